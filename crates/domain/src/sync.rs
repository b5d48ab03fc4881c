use std::time::Instant;

use crate::{BlockNumber, BlockRef};

/// The state of the index and of the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStatus {
    pub phase: SyncPhase,
    /// The latest indexed block.
    pub tip: Option<BlockRef>,
    /// Its time, unix seconds.
    pub tip_timestamp: Option<u64>,
    /// The latest block that a reorg can no longer revert; None until it is known.
    pub settled: Option<BlockNumber>,
    /// Without a new block until then, the chain counts as stalled, judged by its block interval; None if that is unknown.
    pub quiet_from: Option<Instant>,
    /// The latest block of the node.
    pub node_head: Option<BlockNumber>,
    /// Whether the last request to the node succeeded.
    pub node_reachable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncPhase {
    Starting,
    /// Far behind the node's head: blocks are committed in batches.
    Backfilling,
    /// At the head: blocks are committed one by one.
    Following,
    /// The index cannot be written, for example because the disk is full; writes are retried.
    Waiting {
        reason: String,
    },
    /// Stopped by a fatal error that the operator has to fix.
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

    /// How many blocks the index is behind the node's head; None while that is unknown.
    #[must_use]
    pub fn lag(&self) -> Option<u64> {
        let head = self.node_head?;
        Some(self.tip.map_or(head + 1, |tip| head.saturating_sub(tip.number)))
    }

    /// How many blocks the node is behind the index.
    #[must_use]
    pub fn node_lag(&self) -> u64 {
        self.tip.zip(self.node_head).map_or(0, |(tip, head)| tip.number.saturating_sub(head))
    }

    /// Whether no block has arrived for much longer than the block interval.
    #[must_use]
    pub fn is_chain_quiet(&self, now: Instant) -> bool {
        self.quiet_from.is_some_and(|from| from <= now)
    }
}
