//! Reorgs on demand.

use alloy_consensus::{TxEnvelope, transaction::Recovered};

use crate::builder::{BlockBuilder, Rejection};

/// What happens to the transactions of reverted blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReorgedTransactions {
    /// They are mined again in the new blocks, distributed differently; those that do not fit go to the pool.
    Replay,
    /// They are dropped, and the new blocks are empty.
    Drop,
}

/// Why a reorg was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReorgError {
    #[error("a reorg must replace at least one block")]
    NothingToReplace,
    #[error("depth {depth} exceeds the {kept} latest blocks that can be replaced")]
    TooDeep { depth: u64, kept: u64 },
}

/// Distributes transactions over the new blocks.
pub(crate) struct Replay {
    remaining: std::collections::VecDeque<Recovered<TxEnvelope>>,
}

impl Replay {
    pub(crate) fn new(transactions: impl IntoIterator<Item = Recovered<TxEnvelope>>) -> Self {
        Self { remaining: transactions.into_iter().collect() }
    }

    /// Fills the next of `blocks_left` blocks.
    ///
    /// Earlier blocks get more than an even share, so that the distribution differs from before.
    pub(crate) fn fill(&mut self, block: &mut BlockBuilder, blocks_left: u64) {
        let blocks_left = usize::try_from(blocks_left).unwrap_or(usize::MAX);
        let share = (self.remaining.len() * 2).div_ceil(blocks_left.saturating_add(1));
        for _ in 0..share {
            let Some(transaction) = self.remaining.pop_front() else {
                return;
            };
            match block.push(&transaction) {
                Ok(()) => {}
                Err(Rejection::NotNow) => {
                    // Put back in front, since later ones of the same sender depend on it.
                    self.remaining.push_front(transaction);
                    return;
                }
                Err(Rejection::Invalid(reason)) => {
                    let hash = transaction.tx_hash();
                    tracing::debug!(%hash, %reason, "transaction not replayed after a reorg");
                }
            }
        }
    }

    /// Transactions that did not fit in the new blocks.
    pub(crate) fn into_remaining(self) -> impl Iterator<Item = Recovered<TxEnvelope>> {
        self.remaining.into_iter()
    }
}
