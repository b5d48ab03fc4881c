use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Progress {
    blocks: AtomicU64,
    transactions: AtomicU64,
    reverted_blocks: AtomicU64,
}

impl Progress {
    /// Committed blocks, including those reverted later.
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    pub fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }

    pub fn reverted_blocks(&self) -> u64 {
        self.reverted_blocks.load(Ordering::Relaxed)
    }

    pub(crate) fn committed(&self, blocks: u64, transactions: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
        self.transactions.fetch_add(transactions, Ordering::Relaxed);
    }

    pub(crate) fn reverted(&self, blocks: u64) {
        self.reverted_blocks.fetch_add(blocks, Ordering::Relaxed);
    }
}
