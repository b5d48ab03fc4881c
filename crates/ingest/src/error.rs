use store::{Failure, StoreError};

/// Why following ended.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// Another writer continues the index, so this process must not: it ends, and is restarted as one that waits for its
    /// turn or reads only.
    #[error("another writer has taken over the index")]
    WriterReplaced,
    /// All nodes serve another chain than the indexed one.
    #[error("the node serves another chain")]
    OtherChain,
    /// The chain of the node forks off below the lowest block that can be reverted, and its index may start over
    /// ([`crate::IngestConfig::starts_over`]).
    #[error("the node's chain forks off below the lowest block that can be reverted")]
    TooDeep,
    /// The index can be read, but not continued.
    #[error("cannot write the index")]
    Store(#[source] StoreError),
}

impl From<StoreError> for IngestError {
    fn from(error: StoreError) -> Self {
        match error.failure() {
            Failure::WriterReplaced => Self::WriterReplaced,
            Failure::Transient | Failure::Fatal => Self::Store(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_writer_is_distinguished_from_a_damaged_store() {
        assert!(matches!(StoreError::WriterReplaced.into(), IngestError::WriterReplaced));
        assert!(matches!(StoreError::Corrupt("a row").into(), IngestError::Store(StoreError::Corrupt(_))));
    }
}
