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
    #[error(
        "the data belongs to another chain: it contains chain {} with genesis {}, the node is on chain {} with genesis {}",
        .stored.chain_id, .stored.genesis_hash, .requested.chain_id, .requested.genesis_hash
    )]
    OtherChain { stored: ChainIdentity, requested: ChainIdentity },
    #[error("the data was indexed from block {stored}, but the configured start block is {requested}")]
    OtherStart { stored: BlockNumber, requested: BlockNumber },
    #[error("the data has schema {stored}, newer than the schema {known} of this version")]
    NewerSchema { stored: u32, known: u32 },
    #[error("the data has schema {stored}, older than the schema {known} of this version")]
    OlderSchema { stored: u32, known: u32 },
    #[error("the data is in use by another process")]
    InUse,
    #[error("damaged data: {0}")]
    Corrupt(&'static str),
    /// The bytes read differ from the bytes written.
    #[error("damaged data: {found}")]
    Damaged { found: String },
    /// The disk or the operating system reports an error that may be transient.
    #[error("the disk is unavailable: {reason}")]
    Unavailable { reason: String },
    #[error("store unavailable")]
    Backend(#[source] BoxError),
}

impl StoreError {
    /// Whether a retry may succeed without a change to the data: the disk is full, for example, or another process has
    /// the data open.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::InUse)
    }
}

fn describe_tip(tip: Option<BlockNumber>) -> String {
    tip.map_or_else(|| "an empty index".to_owned(), |tip| format!("tip {tip}"))
}
