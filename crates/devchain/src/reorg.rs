//! Reorganisations on demand.

use alloy_consensus::{TxEnvelope, transaction::Recovered};

use crate::builder::{BlockBuilder, Rejection};

/// What becomes of the transactions of the blocks that a reorganisation takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReorgedTransactions {
    /// They go into the new blocks in another spread; what finds no place there waits in the pool.
    Replay,
    /// They vanish, and the new blocks are empty.
    Drop,
}

/// Why the chain was left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReorgError {
    #[error("a reorganisation takes away at least one block")]
    NothingToReplace,
    #[error("depth {depth} reaches beyond the {kept} newest blocks that can be replaced")]
    TooDeep { depth: u64, kept: u64 },
}

/// Transactions that are dealt out over a given number of new blocks.
pub(crate) struct Replay {
    left: std::collections::VecDeque<Recovered<TxEnvelope>>,
}

impl Replay {
    pub(crate) fn new(transactions: impl IntoIterator<Item = Recovered<TxEnvelope>>) -> Self {
        Self { left: transactions.into_iter().collect() }
    }

    /// Fills one of the `blocks_left` blocks that are still to come.
    ///
    /// Earlier blocks get more than an even share, so that the spread is another than before.
    pub(crate) fn fill(&mut self, block: &mut BlockBuilder, blocks_left: u64) {
        let blocks_left = usize::try_from(blocks_left).unwrap_or(usize::MAX);
        let share = (self.left.len() * 2).div_ceil(blocks_left.saturating_add(1));
        for _ in 0..share {
            let Some(transaction) = self.left.pop_front() else {
                return;
            };
            match block.push(&transaction) {
                Ok(()) => {}
                Err(Rejection::NotNow) => {
                    // Put back in front: later ones of the same sender depend on it.
                    self.left.push_front(transaction);
                    return;
                }
                Err(Rejection::Invalid(reason)) => {
                    let hash = transaction.tx_hash();
                    tracing::debug!(%hash, %reason, "not replayed after a reorganisation");
                }
            }
        }
    }

    /// What found no place in the new blocks.
    pub(crate) fn into_left(self) -> impl Iterator<Item = Recovered<TxEnvelope>> {
        self.left.into_iter()
    }
}
