//! The coin of the chain: transactions, payments inside them, and fees.

use std::collections::BTreeSet;

use domain::{
    Account, Address, Balance, Block, BlockId, BlockNumber, BlockRange, Coverage, CreditClass, CreditFilter,
    InternalFilter, InternalPage, Outcome, PageRequest, TracedRange, TransactionFilter,
};
use futures::future::BoxFuture;
use store::{ChainReader, StoreError};

use super::{
    ATTEMPTS, Attempt, BalanceHistory, HistoryError, Inexact, Parts, READ_ENTRIES,
    movements::{Movement, may_destroy_coins, of_credit, of_internal, of_tip, of_transaction},
    read_from,
};
use crate::{AccountSource, Accounts, MayCallNode, SourcedAccount};

/// Payments inside transactions are indexed behind the tip. The balance of a block that is this many blocks behind is still
/// available from any node.
const RECENT_BLOCKS: u64 = 64;

/// Transactions in blocks that an address produced, of which the fees are added up.
const MINED_TRANSACTIONS: u64 = 1_000;

/// The coins of an address over time; None if neither the index nor the node knows the address.
///
/// The sum of what is indexed is compared with what the node says of the first point.
pub fn coin_history<'a>(
    chain: &'a dyn ChainReader,
    accounts: &'a Accounts,
    address: Address,
    may_call_node: &'a MayCallNode<'_>,
) -> BoxFuture<'a, Result<Option<BalanceHistory>, HistoryError>> {
    Box::pin(async move {
        for _ in 0..ATTEMPTS {
            if let Some(result) = attempt(chain, accounts, address, may_call_node).await?.result() {
                let Some(mut history) = result else { return Ok(None) };
                if let Some(reason) = confirm(chain, accounts, address, &history, may_call_node).await? {
                    history.inexact.insert(reason);
                }
                return Ok(Some(history));
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
    for class in [CreditClass::Withdrawals, CreditClass::Issuances] {
        let filter = CreditFilter { blocks: upto, ..CreditFilter::of(address, class) };
        let credits = chain.list_credits(&filter, PageRequest::newest(READ_ENTRIES)).await?;
        let oldest = credits.items.last().map(|credit| credit.block_number);
        complete_from = complete_from.max(read_from(oldest, credits.items.len(), credits.total, first));
        movements.extend(credits.items.iter().map(of_credit));
    }
    let walked = BlockRange { from: Some(complete_from.saturating_add(1)), to: Some(end.number) };
    match earned_fees(chain, address, walked).await? {
        Some(fees) => movements.extend(fees),
        None => {
            inexact.insert(Inexact::MinedBlocks);
        }
    }
    let balance = Balance::from(account.balance);
    Parts { tip, token: None, balance, end, complete_from, movements, inexact, coverage }.history(chain).await
}

/// What the address earned of the transactions in blocks that it produced; None if there are too many.
async fn earned_fees(
    chain: &dyn ChainReader,
    miner: Address,
    blocks: BlockRange,
) -> Result<Option<Vec<Movement>>, StoreError> {
    let mined = chain.list_mined_blocks(miner, blocks, PageRequest::newest(READ_ENTRIES)).await?;
    let transactions: u64 = mined.items.iter().map(|block| u64::from(block.tx_count)).sum();
    if mined.total > mined.items.len() as u64 || transactions > MINED_TRANSACTIONS {
        return Ok(None);
    }
    let mut fees = Vec::new();
    for block in mined.items.iter().filter(|block| block.tx_count > 0) {
        let filter = TransactionFilter { blocks: BlockRange::only(block.number), ..TransactionFilter::default() };
        let found = chain.list_transactions(&filter, PageRequest::newest(block.tx_count)).await?;
        fees.extend(found.items.iter().map(|tx| of_tip(block, tx)));
    }
    Ok(Some(fees))
}

/// Compares the first point with the node: movements that are not indexed would be missing in the sum from it on. Returns what is
/// wrong. A history of one point is what the node said.
async fn confirm(
    chain: &dyn ChainReader,
    accounts: &Accounts,
    address: Address,
    history: &BalanceHistory,
    may_call_node: &MayCallNode<'_>,
) -> Result<Option<Inexact>, HistoryError> {
    let [first, .., last] = history.points.as_slice() else { return Ok(None) };
    let known_wrong = [Inexact::BelowZero, Inexact::BalanceOfOtherBlock];
    if known_wrong.iter().any(|reason| history.inexact.contains(reason)) {
        return Ok(None);
    }
    let Some(block) = chain.find_block(BlockId::Number(first.block)).await? else { return Ok(None) };
    let Some(account) = accounts.find_at(block.id(), address, may_call_node).await else {
        return Ok(Some(Inexact::Unconfirmed));
    };
    if Balance::from(account.balance) == first.balance {
        return Ok(None);
    }
    let blocks = BlockRange { from: Some(first.block.saturating_add(1)), to: Some(last.block) };
    let mined = chain.list_mined_blocks(address, blocks, PageRequest::newest(0)).await?.total;
    let issued = CreditFilter { blocks, ..CreditFilter::of(address, CreditClass::Issuances) };
    let issued = chain.list_credits(&issued, PageRequest::newest(0)).await?.total;
    Ok(Some(if mined > 0 && issued == 0 { Inexact::BlockRewards } else { Inexact::DoesNotAddUp }))
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
