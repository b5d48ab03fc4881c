//! Blocks waiting for the next commit.

use domain::{Block, BlockChanges, LogEvent};
use tokio::time::Instant;

use crate::IngestConfig;

/// Memory of the logs after which a batch is due: contracts decide how much they emit.
const LOG_BYTES: usize = 32 << 20;

#[derive(Default)]
pub(crate) struct Batch {
    blocks: Vec<BlockChanges>,
    transactions: usize,
    log_bytes: usize,
    begun: Option<Instant>,
}

impl Batch {
    pub(crate) fn push(&mut self, changes: BlockChanges, now: Instant) {
        self.begun.get_or_insert(now);
        self.transactions += changes.transactions.len();
        self.log_bytes += changes.logs.iter().map(LogEvent::weight).sum::<usize>();
        self.blocks.push(changes);
    }

    pub(crate) fn last(&self) -> Option<&Block> {
        self.blocks.last().map(|changes| &changes.block)
    }

    pub(crate) fn is_due(&self, config: &IngestConfig, now: Instant) -> bool {
        self.transactions >= config.batch_transactions
            || self.blocks.len() >= config.batch_blocks
            || self.log_bytes >= LOG_BYTES
            || self.begun.is_some_and(|begun| now.duration_since(begun) >= config.batch_age)
    }

    pub(crate) fn take(&mut self) -> (Vec<BlockChanges>, u64) {
        let batch = std::mem::take(self);
        (batch.blocks, batch.transactions as u64)
    }
}
