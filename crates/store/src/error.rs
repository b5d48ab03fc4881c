use domain::{Address, BlockNumber, ChainIdentity};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a store operation failed. No variant is specific to a backend.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("block {number} does not follow {}", describe_tip(*.tip))]
    NotNextBlock { number: BlockNumber, tip: Option<BlockNumber> },
    #[error("block {number} is not a child of the indexed block before it")]
    NotChildOfTip { number: BlockNumber },
    #[error("a trade refers to {pool}, which is not a known pool")]
    UnknownPool { pool: Address },
    #[error("cannot revert to block {target}: the oldest block with undo data is {oldest}")]
    BeyondUndo { target: BlockNumber, oldest: BlockNumber },
    #[error("the data belongs to another chain: it contains {stored}, the node is on {requested}")]
    OtherChain { stored: ChainIdentity, requested: ChainIdentity },
    #[error("the data was indexed from block {stored}, but the configured start block is {requested}")]
    OtherStart { stored: BlockNumber, requested: BlockNumber },
    #[error("the data has schema {stored}, newer than the schema {known} of this version")]
    NewerSchema { stored: u32, known: u32 },
    #[error("the data has schema {stored}, older than the schema {known} of this version")]
    OlderSchema { stored: u32, known: u32 },
    #[error("the records have version {stored}, newer than the version {known} that this one reads")]
    NewerRecords { stored: u32, known: u32 },
    #[error("{folder} is not empty")]
    NotEmpty { folder: String },
    #[error("the new index in {folder} cannot be used: {reason}")]
    UnusableReindex { folder: String, reason: String },
    #[error("the data is in use by another process")]
    InUse,
    #[error("damaged data: {0}")]
    Corrupt(&'static str),
    /// The bytes read differ from the bytes written.
    #[error("damaged data: {found}")]
    Damaged { found: String },
    /// The store reports a failure that may be transient: a full disk, for example, or a lost connection.
    #[error("the store is unavailable: {reason}")]
    Unavailable { reason: String },
    #[error("another writer has taken over the index")]
    WriterReplaced,
    #[error("store failure")]
    Backend(#[source] BoxError),
}

/// What a caller can do about a [`StoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Wait and retry: a retry may succeed without a change to the data. The disk is full, for example, or another
    /// process has the data open.
    Transient,
    /// Stop writing: another writer continues from here. The data is intact.
    WriterReplaced,
    /// Give up: the data is damaged, or the operation is not possible with it.
    Fatal,
}

impl StoreError {
    #[must_use]
    pub fn failure(&self) -> Failure {
        match self {
            Self::Unavailable { .. } | Self::InUse => Failure::Transient,
            Self::WriterReplaced => Failure::WriterReplaced,
            Self::NotNextBlock { .. }
            | Self::NotChildOfTip { .. }
            | Self::UnknownPool { .. }
            | Self::BeyondUndo { .. }
            | Self::OtherChain { .. }
            | Self::OtherStart { .. }
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::NewerRecords { .. }
            | Self::NotEmpty { .. }
            | Self::UnusableReindex { .. }
            | Self::Corrupt(_)
            | Self::Damaged { .. }
            | Self::Backend(_) => Failure::Fatal,
        }
    }

    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.failure() == Failure::Transient
    }
}

fn describe_tip(tip: Option<BlockNumber>) -> String {
    tip.map_or_else(|| "an empty index".to_owned(), |tip| format!("tip {tip}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_damage_and_impossible_operations_are_fatal() {
        let unavailable = StoreError::Unavailable { reason: "no space left on device".to_owned() };
        assert_eq!(unavailable.failure(), Failure::Transient);
        assert_eq!(StoreError::InUse.failure(), Failure::Transient);
        assert_eq!(StoreError::WriterReplaced.failure(), Failure::WriterReplaced);
        assert_eq!(StoreError::Corrupt("a row").failure(), Failure::Fatal);
        assert_eq!(StoreError::NotChildOfTip { number: 5 }.failure(), Failure::Fatal);
        assert!(!StoreError::WriterReplaced.is_transient(), "a retry would fail again");
    }
}
