use domain::{Address, BlockNumber, ChainIdentity};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a store refused or failed. No variant names a backend.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("block {number} does not follow {}", describe_tip(*.tip))]
    NotNextBlock { number: BlockNumber, tip: Option<BlockNumber> },
    #[error("block {number} is not a child of the indexed block before it")]
    NotChildOfTip { number: BlockNumber },
    #[error("a trade names {pool}, which no block has shown to be a pool")]
    UnknownPool { pool: Address },
    #[error("cannot go back to block {target}: the store can undo no further than block {oldest}")]
    BeyondUndo { target: BlockNumber, oldest: BlockNumber },
    #[error(
        "the data belongs to another chain: it holds chain {} with genesis {}, the node is on chain {} with genesis {}",
        .stored.chain_id, .stored.genesis_hash, .asked.chain_id, .asked.genesis_hash
    )]
    OtherChain { stored: ChainIdentity, asked: ChainIdentity },
    #[error("the data was indexed from block {stored}, but block {asked} is asked for as the first one")]
    OtherStart { stored: BlockNumber, asked: BlockNumber },
    #[error("the data has schema {stored}, newer than the schema {known} of this version")]
    NewerSchema { stored: u32, known: u32 },
    #[error("the data has schema {stored}, older than the schema {known} of this version")]
    OlderSchema { stored: u32, known: u32 },
    #[error("the data is in use by another process")]
    InUse,
    #[error("damaged data: {0}")]
    Corrupt(&'static str),
    /// What is read is not what was written.
    #[error("damaged data: {found}")]
    Damaged { found: String },
    /// The disk or the system refuses, which may pass.
    #[error("the disk cannot be used now: {reason}")]
    Unavailable { reason: String },
    #[error("store unavailable")]
    Backend(#[source] BoxError),
}

impl StoreError {
    /// Whether the same may succeed later without anybody changing the data: the disk has no space now, say, or another
    /// process has the data now.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::InUse)
    }
}

fn describe_tip(tip: Option<BlockNumber>) -> String {
    tip.map_or_else(|| "an empty index".to_owned(), |tip| format!("tip {tip}"))
}
