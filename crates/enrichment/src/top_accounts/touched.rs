//! Addresses whose balances blocks may have changed, as far as the index knows.

use std::collections::BTreeSet;

use domain::{Address, BlockNumber, BlockRange, CreditFilter, InternalFilter, Order, PageRequest, TransactionFilter};
use store::{ChainReader, StoreError};

/// Entries of a list that are read at once.
const PAGE: u32 = 1_000;

/// Senders, receivers and created contracts of transactions, those who produced the blocks, and whom the protocol paid.
pub(super) async fn by_blocks(
    chain: &dyn ChainReader,
    first: BlockNumber,
    last: BlockNumber,
) -> Result<BTreeSet<Address>, StoreError> {
    let (mut touched, blocks) = (BTreeSet::new(), BlockRange { from: Some(first), to: Some(last) });
    for page in pages() {
        let found = chain.list_blocks(blocks, page).await?;
        touched.extend(found.items.iter().map(|block| block.miner));
        if is_last(page, found.total) {
            break;
        }
    }
    let filter = TransactionFilter { blocks, ..TransactionFilter::default() };
    for page in pages() {
        let found = chain.list_transactions(&filter, page).await?;
        touched.extend(found.items.iter().flat_map(|tx| [Some(tx.from), tx.to, tx.created]).flatten());
        if is_last(page, found.total) {
            break;
        }
    }
    let filter = CreditFilter { blocks, ..CreditFilter::default() };
    for page in pages() {
        let found = chain.list_credits(&filter, page).await?;
        touched.extend(found.items.iter().map(|credit| credit.event.to));
        if is_last(page, found.total) {
            break;
        }
    }
    Ok(touched)
}

/// Senders and receivers of internal transactions.
pub(super) async fn by_internal_transactions(
    chain: &dyn ChainReader,
    first: BlockNumber,
    last: BlockNumber,
) -> Result<BTreeSet<Address>, StoreError> {
    let mut touched = BTreeSet::new();
    let blocks = BlockRange { from: Some(first), to: Some(last) };
    let filter = InternalFilter { blocks, ..InternalFilter::default() };
    for page in pages() {
        let found = chain.list_internal_transactions(&filter, page).await?.page;
        let moved = found.items.iter().filter(|found| found.event.moves_value());
        touched.extend(moved.flat_map(|found| [Some(found.event.from), found.event.to]).flatten());
        if is_last(page, found.total) {
            break;
        }
    }
    Ok(touched)
}

fn pages() -> impl Iterator<Item = PageRequest> {
    (0..).step_by(PAGE as usize).map(|offset| PageRequest { offset, limit: PAGE, order: Order::OldestFirst })
}

fn is_last(page: PageRequest, total: u64) -> bool {
    page.offset.saturating_add(u64::from(page.limit)) >= total
}
