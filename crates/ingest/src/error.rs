use store::StoreError;

/// A fatal error of the follower.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    #[error("cannot write the index")]
    Store(#[from] StoreError),
}
