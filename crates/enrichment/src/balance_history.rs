//! The balance of an address over time. The index has no balances of the past: they are computed from the balance of one block
//! and what moved before it. A fixed number of movements is read, whatever the address, so that a busy address has a shorter
//! history, not a slower one.

mod coin;
mod movements;
mod token;
mod walk;

use std::collections::BTreeSet;

use domain::{Balance, Block, BlockId, BlockNumber, BlockRef, Coverage, Token};
use store::{ChainReader, StoreError};

pub use self::{coin::coin_history, token::token_history, walk::BalancePoint};
use self::{
    movements::Movement,
    walk::{BlockEnd, Walk, sample, walk_back},
};
use crate::{AccountError, AccountUnavailable};

/// The newest entries of each list that are read.
const READ_ENTRIES: u32 = 300;
const MAX_POINTS: usize = 100;
/// How often a history is read again after a reorg in the meantime.
const ATTEMPTS: usize = 3;

/// Balances at the end of blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BalanceHistory {
    /// None for the coin of the chain.
    pub token: Option<Token>,
    /// The oldest first, at least one.
    pub points: Vec<BalancePoint>,
    /// Whether points are left out, since there are too many: each says up to which block its balance is known to be the same.
    pub is_thinned: bool,
    /// Every balance from the end of this block on is known.
    pub complete_from: BlockNumber,
    /// Whether nothing before the first point is missing: it reaches the first block of the chain.
    pub is_complete: bool,
    /// Why balances may be wrong; empty if they are exact.
    pub inexact: BTreeSet<Inexact>,
    pub coverage: Coverage,
}

/// Why balances of the past may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inexact {
    /// Transfers do not tell the balances of the token: it takes fees or changes balances without a transfer.
    BalancesFromContract,
    /// The index does not begin with the first block, so that transfers before it are missing.
    PartialIndex,
    /// The address produced blocks with too many transactions to add up the fees that it earned.
    MinedBlocks,
    /// The address produced blocks by work on a chain whose rewards are not known.
    BlockRewards,
    /// It is not known whether some of the transactions succeeded: receipts before Byzantium do not tell.
    UnknownOutcome,
    /// Payments inside transactions are not indexed for these blocks.
    NoInternalTransactions,
    /// The contract destroyed itself, and coins may have been lost with it.
    SelfDestruct,
    /// The node did not return the balance of the newest block, and that of another block is used.
    BalanceOfOtherBlock,
    /// The movements do not add up to what the node says of the first point: payments of a kind that is not indexed are missing.
    DoesNotAddUp,
    /// The node does not have the state of the first point, so that nothing tells whether movements are missing.
    Unconfirmed,
    /// The movements do not add up to the balance: the walk ended where it would have been below zero.
    BelowZero,
    /// Tokens that are sent to the zero address are burned, and not counted as held.
    ZeroAddress,
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the node did not return the balance, and no earlier response is stored")]
    NodeUnavailable(#[source] AccountUnavailable),
    #[error("blocks were reverted while the history was read")]
    Reorg,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AccountError> for HistoryError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Unavailable(cause) => Self::NodeUnavailable(cause),
            AccountError::Store(error) => Self::Store(error),
        }
    }
}

/// What was read at once: one attempt.
enum Attempt {
    Found(Box<BalanceHistory>),
    NotFound,
    /// A reorg happened in the meantime, so that parts are of different branches.
    Reorged,
}

impl Attempt {
    /// The result, unless it has to be read again.
    fn result(self) -> Option<Option<BalanceHistory>> {
        match self {
            Self::Found(history) => Some(Some(*history)),
            Self::NotFound => Some(None),
            Self::Reorged => None,
        }
    }
}

/// Everything that a history is computed from.
struct Parts {
    /// The newest block when reading began.
    tip: BlockRef,
    token: Option<Token>,
    balance: Balance,
    /// The block of the balance, at most the newest one.
    end: Block,
    /// All movements above this block are read.
    complete_from: BlockNumber,
    movements: Vec<Movement>,
    inexact: BTreeSet<Inexact>,
    coverage: Coverage,
}

impl Parts {
    /// Walks back, and checks that the blocks are still those of the beginning.
    async fn history(self, chain: &dyn ChainReader) -> Result<Attempt, HistoryError> {
        let complete_from = self.complete_from.min(self.end.number);
        let start = chain.find_block(BlockId::Number(complete_from)).await?;
        // Blocks up to the tip change only with a reorg, and then the tip changes, too.
        let now = chain.find_block(BlockId::Number(self.tip.number)).await?;
        let (Some(start), true) = (start, now.map(|block| block.id()) == Some(self.tip)) else {
            return Ok(Attempt::Reorged);
        };
        let at = |block: &Block| BlockEnd { block: block.number, timestamp: block.timestamp };
        let Walk { points, below_zero } = walk_back(self.balance, at(&self.end), at(&start), &self.movements);
        let mut inexact = self.inexact;
        if below_zero {
            inexact.insert(Inexact::BelowZero);
        }
        let complete_from = points.first().map_or(complete_from, |first| first.block);
        let is_thinned = points.len() > MAX_POINTS;
        Ok(Attempt::Found(Box::new(BalanceHistory {
            token: self.token,
            points: sample(points, MAX_POINTS),
            is_thinned,
            complete_from,
            is_complete: complete_from == 0,
            inexact,
            coverage: self.coverage,
        })))
    }
}

/// The block from the end of which all entries of a list are read: its first page is complete, or ends with some entries of
/// this block.
fn read_from(oldest: Option<BlockNumber>, read: usize, total: u64, first_block: BlockNumber) -> BlockNumber {
    let is_cut = total > read as u64;
    oldest.filter(|_| is_cut).unwrap_or(first_block).max(first_block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_from_the_block_of_its_oldest_entry_or_from_the_beginning() {
        assert_eq!(read_from(Some(50), 300, 301, 3), 50);
        assert_eq!(read_from(Some(50), 300, 300, 3), 3);
        assert_eq!(read_from(None, 0, 0, 3), 3);
    }
}
