use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use metrics::{Counter, Histogram};

use crate::failing_calls::FailingCalls;

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
    has_contract_data: AtomicBool,
    pub(crate) failing_calls: FailingCalls,
    native_disagreements: Counter,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            blocks: Counter::new(),
            transactions: Counter::new(),
            commit_times: Histogram::of_latencies(),
            reorg_depths: Histogram::new(DEPTHS),
            has_contract_data: AtomicBool::new(false),
            failing_calls: FailingCalls::default(),
            native_disagreements: Counter::new(),
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

    /// Lookups of pools and token standards that blocks went on without, since contract calls failed.
    pub fn lookups_given_up(&self) -> u64 {
        self.failing_calls.given_up()
    }

    /// Whether the contract data that the index needs, such as names and balances of tokens, was read after the last block.
    pub fn has_contract_data(&self) -> bool {
        self.has_contract_data.load(Ordering::Relaxed)
    }

    /// Blocks whose trace moved other coins than their logs (EIP-7708) say.
    pub fn native_disagreements(&self) -> u64 {
        self.native_disagreements.get()
    }

    pub(crate) fn count_native_disagreement(&self) {
        self.native_disagreements.increment();
    }

    pub(crate) fn record_contract_data(&self, is_complete: bool) {
        self.has_contract_data.store(is_complete, Ordering::Relaxed);
    }

    pub(crate) fn committed(&self, blocks: u64, transactions: u64, time: Duration) {
        self.record_contract_data(false);
        self.blocks.add(blocks);
        self.transactions.add(transactions);
        self.commit_times.record_duration(time);
    }

    pub(crate) fn reverted(&self, blocks: u64) {
        self.reorg_depths.record(blocks);
    }
}
