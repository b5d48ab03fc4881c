//! Since which block an account lets the code of another one run in its place (EIP-7702).
//!
//! No list has authorizations by account, but each that has an effect increases the nonce of the account, as each transaction that
//! the account sends does. So the nonce less these transactions, which the index counts, changes only in blocks with an
//! authorization, or with a contract that the account created by its code: the last such block is found by a binary search.

use std::{sync::Arc, time::Duration};

use domain::{Account, Address, BlockId, BlockNumber, BlockRange, BlockRef, Code, PageRequest, TransactionFilter};
use futures::future::BoxFuture;
use store::{ChainReader, StoreError};
use tokio::time::timeout;

use crate::{Accounts, MayCallNode};

/// A user waits. What was asked of the node is cached, so that a later search goes on from there.
const SEARCH_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Changes that are looked at: an account may authorize the same code again.
const MAX_CHANGES: u32 = 4;

/// Finds where delegations began.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct DelegationStarts {
    chain: Arc<dyn ChainReader>,
    accounts: Arc<Accounts>,
}

impl DelegationStarts {
    #[must_use]
    pub fn new(chain: Arc<dyn ChainReader>, accounts: Arc<Accounts>) -> Self {
        Self { chain, accounts }
    }

    /// The block since which an account delegates to the same code; None if it does not, or if that is not known: the node does not
    /// have the state of old blocks, has not answered yet, or the index begins later.
    pub fn find<'a>(
        &'a self,
        address: Address,
        account: &'a Account,
        may_call_node: &'a MayCallNode<'_>,
    ) -> BoxFuture<'a, Option<BlockNumber>> {
        Box::pin(async move {
            let Code::Delegation { .. } = account.code else { return None };
            let search = Search { of: self, address, code: account.code, may_call_node };
            let found = timeout(SEARCH_TIMEOUT, search.start(account)).await.ok()?;
            found.inspect_err(|error| tracing::debug!(%error, %address, "cannot find since when it delegates")).ok()?
        })
    }
}

struct Search<'a> {
    of: &'a DelegationStarts,
    address: Address,
    code: Code,
    may_call_node: &'a MayCallNode<'a>,
}

/// An account at the end of a block.
#[derive(Clone, Copy)]
struct State {
    block: BlockNumber,
    code: Code,
    /// What increased the nonce other than its transactions.
    changes: u64,
}

impl Search<'_> {
    async fn start(&self, account: &Account) -> Result<Option<BlockNumber>, StoreError> {
        let Some(first) = self.of.chain.coverage().await?.first_block else { return Ok(None) };
        let (Some(first), Some(mut newest)) = (self.at(first).await?, self.state(account).await?) else {
            return Ok(None);
        };
        for _ in 0..MAX_CHANGES {
            if first.changes == newest.changes {
                return Ok(None);
            }
            let Some(before) = self.last_before(first, newest).await? else { return Ok(None) };
            if before.code != self.code {
                return Ok(Some(before.block + 1));
            }
            newest = before;
        }
        Ok(None)
    }

    /// The state before the last change, which lies between the two.
    async fn last_before(&self, mut before: State, after: State) -> Result<Option<State>, StoreError> {
        let mut first_after = after.block;
        while before.block + 1 < first_after {
            let Some(middle) = self.at(middle(before.block, first_after)).await? else { return Ok(None) };
            if middle.changes == after.changes {
                first_after = middle.block;
            } else {
                before = middle;
            }
        }
        // Otherwise its code changed without a change of its nonce, by rules that are not known.
        let at_change = self.at(first_after).await?;
        Ok(Some(before).filter(|_| at_change.is_some_and(|state| state.code == self.code)))
    }

    async fn at(&self, block: BlockNumber) -> Result<Option<State>, StoreError> {
        let Some(block) = self.of.chain.find_block(BlockId::Number(block)).await? else { return Ok(None) };
        let at: BlockRef = block.id();
        match self.of.accounts.find_at(at, self.address, self.may_call_node).await {
            Some(account) => self.state(&account).await,
            None => Ok(None),
        }
    }

    async fn state(&self, account: &Account) -> Result<Option<State>, StoreError> {
        let blocks = BlockRange { from: None, to: Some(account.block) };
        let filter = TransactionFilter { from: Some(self.address), blocks, ..TransactionFilter::default() };
        let sent = self.of.chain.list_transactions(&filter, PageRequest::newest(0)).await?.total;
        let changes = account.nonce.checked_sub(sent);
        Ok(changes.map(|changes| State { block: account.block, code: account.code, changes }))
    }
}

/// A block between two others: the one that the most searches would ask for, also from other tips.
fn middle(before: BlockNumber, after: BlockNumber) -> BlockNumber {
    let of_shift = |shift: u32| ((after - 1) >> shift) << shift;
    (0..u64::BITS).rev().map(of_shift).find(|block| *block > before).unwrap_or(after - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_asks_for_few_blocks_and_for_the_same_ones_from_other_tips() {
        assert_eq!(middle(0, 100), 64);
        assert_eq!(middle(0, 103), 64);
        assert_eq!(middle(64, 103), 96);
        assert_eq!(middle(96, 98), 97);
        for sought in [1, 2, 77, 999_999, 1_000_000] {
            let (mut before, mut after, mut asked) = (0, 1_000_000, 0);
            while before + 1 < after {
                let block = middle(before, after);
                assert!(block > before && block < after);
                if block >= sought {
                    after = block
                } else {
                    before = block
                }
                asked += 1;
            }
            assert_eq!(after, sought);
            assert!(asked <= 40, "{asked}");
        }
    }
}
