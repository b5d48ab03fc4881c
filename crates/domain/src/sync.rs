use std::time::Instant;

use crate::{BlockNumber, BlockRef};

/// How far the index is, and how the node is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStatus {
    pub phase: SyncPhase,
    /// The newest indexed block.
    pub tip: Option<BlockRef>,
    /// Its time, unix seconds.
    pub tip_timestamp: Option<u64>,
    /// The newest block that a reorganisation can no longer remove from the index; None until it is known.
    pub settled: Option<BlockNumber>,
    /// From then on without a block, the chain has been quiet for too long by its own rhythm; None where it has none.
    pub quiet_from: Option<Instant>,
    /// The newest block the node has told of.
    pub node_head: Option<BlockNumber>,
    /// Whether the node answered when it was last asked.
    pub node_reachable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncPhase {
    Starting,
    /// Far behind the node's head: blocks come in batches.
    Backfilling,
    /// At the head: every block as it comes.
    Following,
    /// The index cannot be written now, and is tried again: no space is left on the device, say.
    Waiting {
        reason: String,
    },
    /// Stopped for a reason that a person must mend.
    Halted {
        reason: String,
    },
}

impl SyncStatus {
    #[must_use]
    pub fn starting() -> Self {
        Self {
            phase: SyncPhase::Starting,
            tip: None,
            tip_timestamp: None,
            settled: None,
            quiet_from: None,
            node_head: None,
            node_reachable: false,
        }
    }

    /// Blocks between the index and the node's head; None while either is unknown.
    #[must_use]
    pub fn lag(&self) -> Option<u64> {
        let head = self.node_head?;
        Some(self.tip.map_or(head + 1, |tip| head.saturating_sub(tip.number)))
    }

    /// Blocks by which the node is behind the index.
    #[must_use]
    pub fn node_lag(&self) -> u64 {
        self.tip.zip(self.node_head).map_or(0, |(tip, head)| tip.number.saturating_sub(head))
    }

    /// Whether no block has come for longer than the chain's own rhythm explains.
    #[must_use]
    pub fn is_chain_quiet(&self, now: Instant) -> bool {
        self.quiet_from.is_some_and(|from| from <= now)
    }
}
