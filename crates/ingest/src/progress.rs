use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use metrics::{Counter, Histogram};

/// Upper bounds of the depths of reorgs, in blocks.
const DEPTHS: &[u64] = &[1, 2, 3, 5, 10, 20, 50, 100, 256, 1_000];

/// What was indexed since the start.
#[derive(Debug)]
pub struct Progress {
    blocks: Counter,
    transactions: Counter,
    /// Of one batch of blocks.
    pub commit_times: Histogram,
    /// Blocks that each reorg reverted.
    pub reorg_depths: Histogram,
    is_settled: AtomicBool,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            blocks: Counter::new(),
            transactions: Counter::new(),
            commit_times: Histogram::of_latencies(),
            reorg_depths: Histogram::new(DEPTHS),
            is_settled: AtomicBool::new(false),
        }
    }
}

impl Progress {
    /// Committed blocks, including those reverted later.
    pub fn blocks(&self) -> u64 {
        self.blocks.get()
    }

    pub fn transactions(&self) -> u64 {
        self.transactions.get()
    }

    /// Whether the contract data that the index needs, such as names and balances of tokens, was read after the last block.
    pub fn is_settled(&self) -> bool {
        self.is_settled.load(Ordering::Relaxed)
    }

    pub(crate) fn settled(&self, is_settled: bool) {
        self.is_settled.store(is_settled, Ordering::Relaxed);
    }

    pub(crate) fn committed(&self, blocks: u64, transactions: u64, time: Duration) {
        self.settled(false);
        self.blocks.add(blocks);
        self.transactions.add(transactions);
        self.commit_times.record_duration(time);
    }

    pub(crate) fn reverted(&self, blocks: u64) {
        self.reorg_depths.record(blocks);
    }
}
