//! The coin of the chain: transactions, payments inside them, and fees.

use std::collections::BTreeSet;

use domain::{
    Account, Address, Balance, Block, BlockId, BlockNumber, BlockRange, Coverage, InternalFilter, InternalPage,
    Outcome, PageRequest, TracedRange, TransactionFilter,
};
use futures::future::BoxFuture;
use store::ChainReader;

use super::{
    ATTEMPTS, Attempt, BalanceHistory, HistoryError, Inexact, Parts, READ_ENTRIES,
    movements::{may_destroy_coins, of_internal, of_transaction},
    read_from,
};
use crate::{AccountSource, Accounts, MayCallNode, SourcedAccount};

/// Payments inside transactions are indexed behind the tip. The balance of a block that is this many blocks behind is still
/// available from any node.
const RECENT_BLOCKS: u64 = 64;

/// The coins of an address over time; None if neither the index nor the node knows the address.
///
/// Unknown to the index, and so shown as balance from before: rewards and withdrawals of validators, and what the chain
/// charges besides gas, such as fees for blobs or for another layer.
pub fn coin_history<'a>(
    chain: &'a dyn ChainReader,
    accounts: &'a Accounts,
    address: Address,
    may_call_node: &'a MayCallNode<'_>,
) -> BoxFuture<'a, Result<Option<BalanceHistory>, HistoryError>> {
    Box::pin(async move {
        for _ in 0..ATTEMPTS {
            if let Some(result) = attempt(chain, accounts, address, may_call_node).await?.result() {
                return Ok(result);
            }
        }
        Err(HistoryError::Reorg)
    })
}

async fn attempt(
    chain: &dyn ChainReader,
    accounts: &Accounts,
    address: Address,
    may_call_node: &MayCallNode<'_>,
) -> Result<Attempt, HistoryError> {
    let (Some(tip), coverage) = (chain.find_tip().await?, chain.coverage().await?) else {
        return Ok(Attempt::NotFound);
    };
    let InternalPage { page: internal, traced_range } =
        chain.list_internal_transactions(&InternalFilter::touching(address), PageRequest::newest(READ_ENTRIES)).await?;
    let wanted = traced_block(tip.number, traced_range);
    let Some(wanted) = chain.find_block(BlockId::Number(wanted)).await? else { return Ok(Attempt::Reorged) };
    let summary = chain.find_address(address).await?;
    let mut inexact = BTreeSet::new();
    let (account, source) = match &summary {
        Some(_) => {
            let found = accounts.get_with_source_within_budget(wanted.id(), address, may_call_node).await?;
            let SourcedAccount { account, source } = found;
            (account, source)
        }
        None => match accounts.find_unindexed(wanted.id(), address, may_call_node).await? {
            Some(account) => (account, AccountSource::Node),
            None => return Ok(Attempt::NotFound),
        },
    };
    // The block of a stored balance may be orphaned.
    if source == AccountSource::Store || account.block != wanted.number {
        inexact.insert(Inexact::BalanceOfOtherBlock);
    }
    let end = balance_block(chain, wanted, &account).await?;

    let upto = BlockRange { from: None, to: Some(end.number) };
    let filter = TransactionFilter { blocks: upto, ..TransactionFilter::touching(address) };
    let transactions = chain.list_transactions(&filter, PageRequest::newest(READ_ENTRIES)).await?;
    let first = first_block(coverage, end.number);
    let oldest = transactions.items.last().map(|tx| tx.block_number);
    let mut complete_from = read_from(oldest, transactions.items.len(), transactions.total, first);
    let mut movements: Vec<_> = transactions.items.iter().map(|tx| of_transaction(address, tx)).collect();
    if transactions.items.iter().any(|tx| tx.outcome() == Outcome::Unknown && !tx.value.is_zero()) {
        inexact.insert(Inexact::UnknownOutcome);
    }
    match traced_range.filter(|range| range.to >= end.number) {
        Some(traced_range) => {
            let oldest = internal.items.last().map(|found| found.block_number);
            let read = read_from(oldest, internal.items.len(), internal.total, first);
            complete_from = complete_from.max(read).max(complete_after(traced_range, first));
        }
        None => {
            inexact.insert(Inexact::NoInternalTransactions);
        }
    }
    movements.extend(internal.items.iter().map(|found| of_internal(address, found)));
    if may_destroy_coins(address, &internal.items) {
        inexact.insert(Inexact::SelfDestruct);
    }
    if let Some(creation) = summary.and_then(|summary| summary.creation)
        && let Some(tx) = chain.find_transaction(creation.tx_hash).await?
        && tx.created == Some(address)
    {
        // The list of a contract does not contain the transaction that created it.
        movements.push(of_transaction(address, &tx));
    }
    let walked = BlockRange { from: Some(complete_from.saturating_add(1)), to: Some(end.number) };
    if chain.list_mined_blocks(address, walked, PageRequest::newest(0)).await?.total > 0 {
        inexact.insert(Inexact::MinedBlocks);
    }
    let balance = Balance::from(account.balance);
    Parts { tip, token: None, balance, end, complete_from, movements, inexact, coverage }.history(chain).await
}

/// The newest block whose payments inside transactions are indexed, if that is a recent one. Otherwise the tip.
fn traced_block(tip: BlockNumber, traced_range: Option<TracedRange>) -> BlockNumber {
    let traced = traced_range.map_or(tip, |range| range.to.min(tip));
    if tip - traced <= RECENT_BLOCKS { traced } else { tip }
}

/// The block from the end of which payments inside transactions are known.
fn complete_after(traced_range: TracedRange, first_block: BlockNumber) -> BlockNumber {
    traced_range.from.saturating_sub(1).max(first_block)
}

fn first_block(coverage: Coverage, tip: BlockNumber) -> BlockNumber {
    coverage.first_block.unwrap_or(tip)
}

/// The indexed block of a balance. That of a node ahead of the index is taken for the newest one.
async fn balance_block(chain: &dyn ChainReader, wanted: Block, account: &Account) -> Result<Block, HistoryError> {
    if account.block >= wanted.number {
        return Ok(wanted);
    }
    Ok(chain.find_block(BlockId::Number(account.block)).await?.unwrap_or(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_balance_is_that_of_the_newest_traced_block_if_it_is_recent() {
        let traced_range = |to| Some(TracedRange { from: 0, to });
        assert_eq!(traced_block(100, traced_range(98)), 98);
        assert_eq!(traced_block(100, traced_range(101)), 100, "indexed after the tip was read");
        assert_eq!(traced_block(1_000, traced_range(98)), 1_000);
        assert_eq!(traced_block(100, None), 100);
    }

    #[test]
    fn balances_are_known_from_the_end_of_the_block_before_the_first_traced_one() {
        assert_eq!(complete_after(TracedRange { from: 50, to: 90 }, 0), 49);
        assert_eq!(complete_after(TracedRange { from: 50, to: 90 }, 50), 50);
        assert_eq!(complete_after(TracedRange { from: 0, to: 90 }, 0), 0);
    }
}
