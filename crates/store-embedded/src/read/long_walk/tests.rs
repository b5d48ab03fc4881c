//! Queries on lists long enough for long walks, in any order, before and after reverts.

use std::time::Duration;

use domain::{
    Address, BlockChanges, BlockNumber, BlockRange, Order, Page, PageRequest, TransactionFilter, TransferEvent,
    TransferFilter,
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use store::{ChainWriter, TransactionReader, TransferReader, Undo};
use store_conformance::RandomChain;

use crate::{EmbeddedReader, EmbeddedStore, EmbeddedWriter, StoreOptions};

const BLOCKS: u64 = 3_000;
const REVERTIBLE: u64 = 500;

struct Chain {
    source: RandomChain,
    blocks: Vec<BlockChanges>,
}

impl Chain {
    async fn grow(&mut self, writer: &mut EmbeddedWriter, count: u64) {
        let old = self.blocks.len();
        for _ in 0..count {
            let parent = self.blocks.last().map(|changes| changes.block.clone());
            self.blocks.push(self.source.next_block(parent.as_ref()));
        }
        let down_to = (self.blocks.len() as u64).saturating_sub(REVERTIBLE);
        for batch in self.blocks[old..].chunks(500) {
            writer.commit(batch.to_vec(), Undo::Keep { down_to }).await.unwrap();
        }
    }

    async fn shrink(&mut self, writer: &mut EmbeddedWriter, count: usize) {
        self.blocks.truncate(self.blocks.len() - count);
        writer.revert_to(self.blocks.len() as u64 - 1).await.unwrap();
    }

    fn transfers(&self, filter: &TransferFilter, page: PageRequest) -> Page<(BlockNumber, TransferEvent)> {
        let all =
            self.blocks.iter().flat_map(|changes| changes.transfers.iter().map(|event| (changes.block.number, *event)));
        let matching: Vec<_> = all.filter(|(block, event)| filter.matches(event, *block)).collect();
        let total = matching.len() as u64;
        let items = page.ranks(total).map(|rank| matching[usize::try_from(rank).unwrap()]);
        Page { items: items.collect(), total }
    }

    fn pair_total(&self, from: Address, to: Address) -> u64 {
        let all = self.blocks.iter().flat_map(|changes| &changes.transactions);
        all.filter(|tx| tx.from == from && tx.to == Some(to)).count() as u64
    }
}

async fn compare(chain: &Chain, reader: &EmbeddedReader, rng: &mut StdRng) {
    let tip = chain.blocks.len() as u64;
    let addresses: Vec<Address> = chain.source.addresses()[..4].to_vec();
    let tokens: Vec<Address> = chain.source.tokens().take(3).collect();
    for _ in 0..60 {
        let maybe_address =
            |rng: &mut StdRng| rng.random_bool(0.5).then(|| addresses[rng.random_range(0..addresses.len())]);
        let (from_block, to_block) = (rng.random_range(0..tip), rng.random_range(0..tip + 50));
        let filter = TransferFilter {
            address: maybe_address(rng),
            from: maybe_address(rng),
            to: maybe_address(rng),
            token: rng.random_bool(0.7).then(|| tokens[rng.random_range(0..tokens.len())]),
            blocks: BlockRange {
                from: rng.random_bool(0.3).then_some(from_block),
                to: rng.random_bool(0.3).then_some(to_block),
            },
        };
        let order = if rng.random_bool(0.5) { Order::NewestFirst } else { Order::OldestFirst };
        let offset = if rng.random_bool(0.3) { 0 } else { rng.random_range(0..3_000) };
        let page = PageRequest { offset, limit: 25, order };
        let expected = chain.transfers(&filter, page);
        let found = reader.list_transfers(&filter, page).await.unwrap();
        assert_eq!(found.total, expected.total, "{filter:?}");
        let found: Vec<_> = found.items.iter().map(|transfer| (transfer.block_number, transfer.event)).collect();
        assert_eq!(found, expected.items, "{filter:?} {page:?}");
    }
    for from in &addresses {
        for to in &addresses {
            let filter = TransactionFilter { from: Some(*from), to: Some(*to), ..TransactionFilter::default() };
            let page = PageRequest { offset: 0, limit: 1, order: Order::NewestFirst };
            let found = reader.list_transactions(&filter, page).await.unwrap();
            assert_eq!(found.total, chain.pair_total(*from, *to));
        }
    }
}

#[tokio::test]
async fn intersections_of_long_lists_are_exact_after_commits_and_reverts() {
    compare_after_commits_and_reverts(StoreOptions::default()).await;
}

#[tokio::test]
async fn lists_with_more_checkpoints_than_the_cache_can_hold_are_counted() {
    // A query whose checkpoints are not cached would be retried forever.
    let options = StoreOptions { row_cache_bytes: 0, ..StoreOptions::default() };
    tokio::time::timeout(Duration::from_secs(300), compare_after_commits_and_reverts(options)).await.unwrap();
}

async fn compare_after_commits_and_reverts(options: StoreOptions) {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), options).unwrap();
    let (mut writer, reader) = (store.writer(), store.reader());
    let mut chain = Chain { source: RandomChain::new(11), blocks: Vec::new() };
    let mut rng = StdRng::seed_from_u64(12);

    chain.grow(&mut writer, BLOCKS).await;
    compare(&chain, &reader, &mut rng).await;
    for depth in [1, 40, 400] {
        chain.shrink(&mut writer, depth).await;
        compare(&chain, &reader, &mut rng).await;
        chain.grow(&mut writer, 2 * depth as u64).await;
        compare(&chain, &reader, &mut rng).await;
    }
}

#[tokio::test]
async fn the_first_query_about_a_narrow_range_of_long_lists_walks_that_range_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let (mut writer, reader) = (store.writer(), store.reader());
    let mut chain = Chain { source: RandomChain::new(13), blocks: Vec::new() };
    chain.grow(&mut writer, BLOCKS).await;
    let (address, token) = (chain.source.addresses()[0], chain.source.tokens().next());
    let whole = TransferFilter { address: Some(address), token, ..TransferFilter::default() };
    let narrow = |from| TransferFilter { blocks: BlockRange { from: Some(from), to: Some(from + 20) }, ..whole };
    let page = PageRequest { offset: 3, limit: 25, order: Order::NewestFirst };
    let without_walk = async |filter: TransferFilter| {
        reader.read(move |index| Ok(index.list_transfers(&filter, page).ok())).await.unwrap()
    };
    for filter in [0, BLOCKS / 2, BLOCKS - 20].map(narrow) {
        let found = without_walk(filter).await.unwrap_or_else(|| panic!("a long walk for {filter:?}"));
        let items = found.items.iter().map(|transfer| (transfer.block_number, transfer.event)).collect();
        assert_eq!(Page { items, total: found.total }, chain.transfers(&filter, page), "{filter:?}");
    }
    assert!(without_walk(whole).await.is_none(), "all of them take a walk");
}
