//! Blocks waiting for the next commit.

use domain::{Block, BlockChanges, BlockNumber, LogEvent};
use tokio::time::Instant;

use crate::IngestConfig;

/// Memory of the logs after which a batch is due: contracts decide how much they emit.
const LOG_BYTES: usize = 32 << 20;
/// Further behind than this, nobody waits for the next block: larger batches write each list and each balance fewer times.
const FAR_BEHIND: u64 = 1_000;
/// How much longer a batch waits then.
const FAR_BEHIND_FACTOR: u32 = 4;

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

    pub(crate) fn is_due(&self, config: &IngestConfig, head: BlockNumber, now: Instant) -> bool {
        let behind = self.last().map_or(0, |last| head.saturating_sub(last.number));
        let age = if behind > FAR_BEHIND { config.batch_age * FAR_BEHIND_FACTOR } else { config.batch_age };
        self.transactions >= config.batch_transactions
            || self.blocks.len() >= config.batch_blocks
            || self.log_bytes >= LOG_BYTES
            || self.begun.is_some_and(|begun| now.duration_since(begun) >= age)
    }

    pub(crate) fn take(&mut self) -> (Vec<BlockChanges>, u64) {
        let batch = std::mem::take(self);
        (batch.blocks, batch.transactions as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn changes(number: BlockNumber) -> BlockChanges {
        BlockChanges::of(Block { number, ..Block::sample() })
    }

    #[test]
    fn a_batch_waits_longer_far_behind_the_head() {
        let (config, begun) = (IngestConfig::from_block(0), Instant::now());
        let mut batch = Batch::default();
        batch.push(changes(7), begun);
        let is_due = |head, age: Duration| batch.is_due(&config, head, begun + age);
        assert!(!is_due(7, config.batch_age / 2) && is_due(7, config.batch_age));
        assert!(is_due(7 + FAR_BEHIND, config.batch_age));
        assert!(
            !is_due(8 + FAR_BEHIND, config.batch_age) && is_due(8 + FAR_BEHIND, config.batch_age * FAR_BEHIND_FACTOR)
        );
    }
}
