use store::StoreError;

/// Why following the chain ended for good.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error("the index cannot be written")]
    Store(#[from] StoreError),
}
