//! Filters that combine two long lists: how much of them is read, what is kept, and what happens to a query that is abandoned.

use std::time::Duration;

use domain::{Address, BlockChanges, BlockNumber, BlockRange, Order, Page, PageRequest, TransferEvent, TransferFilter};
use store::{ChainReader, ChainWriter, StoreError, TransferReader};
use store_postgres::{PostgresOptions, PostgresStore, testing::kept_ids};

use crate::{
    processes::{KEEP, blocks, eventually},
    server::{Server, options},
};

const STEP: u32 = 32;
const BLOCKS: usize = 2_100;
/// Blocks of a commit.
const COMMITTED: usize = 3;

/// A chain of many commits, so that a list has as many runs, and a filter on its two longest lists.
struct Chain {
    server: Server,
    url: String,
    blocks: Vec<BlockChanges>,
    filter: TransferFilter,
}

impl Chain {
    async fn start() -> Self {
        let server = Server::start();
        let url = server.database().await;
        let blocks = blocks(31, BLOCKS);
        let store = open(&url).await;
        let mut writer = store.writer();
        for blocks in blocks.chunks(COMMITTED) {
            writer.commit(blocks.to_vec(), KEEP).await.unwrap();
        }
        let mut chain = Self { server, url, blocks, filter: TransferFilter::default() };
        let events: Vec<_> = chain.blocks.iter().flat_map(|changes| &changes.transfers).collect();
        let filter = |event: &TransferEvent, address: Address| TransferFilter {
            address: Some(address),
            token: Some(event.token),
            ..TransferFilter::default()
        };
        let filters = events.iter().step_by(7).map(|event| filter(event, event.from));
        chain.filter = filters.max_by_key(|filter| chain.expected(filter, PageRequest::newest(0)).total).unwrap();
        chain
    }

    fn expected(&self, filter: &TransferFilter, page: PageRequest) -> Page<(BlockNumber, TransferEvent)> {
        let events =
            self.blocks.iter().flat_map(|changes| changes.transfers.iter().map(|event| (changes.block.number, *event)));
        let matching: Vec<_> = events.filter(|(block, event)| filter.matches(event, *block)).collect();
        let total = matching.len() as u64;
        let items = page.ranks(total).map(|rank| matching[usize::try_from(rank).unwrap()]).collect();
        Page { items, total }
    }

    async fn check(&self, store: &PostgresStore, filter: &TransferFilter, page: PageRequest) {
        let found = store.reader().list_transfers(filter, page).await.unwrap();
        let found = Page {
            total: found.total,
            items: found.items.iter().map(|transfer| (transfer.block_number, transfer.event)).collect(),
        };
        assert_eq!(found, self.expected(filter, page), "{filter:?} {page:?}");
    }

    fn within(&self, from: usize, count: usize) -> TransferFilter {
        let first = from as u64;
        let blocks = BlockRange { from: Some(first), to: Some(first + count as u64 - 1) };
        TransferFilter { blocks, ..self.filter }
    }

    /// The rows of lists that the server has read so far. A session tells it at its end at the latest.
    async fn rows_read(&self) -> i64 {
        let client = self.server.connect(&self.url).await;
        let sessions = "select count(*) from pg_stat_activity where application_name like 'explorer %'";
        eventually("the store is closed", async || {
            (client.query_one(sessions, &[]).await.unwrap().get::<_, i64>(0) == 0).then_some(())
        })
        .await;
        let sql = "select (sum(seq_tup_read) + sum(coalesce(idx_tup_fetch, 0)))::int8 from pg_stat_user_tables
            where relname like '%\\_run'";
        client.query_one(sql, &[]).await.unwrap().get(0)
    }
}

async fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url, PostgresOptions { list_step: STEP, ..options() }).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_narrow_range_of_blocks_reads_little_of_two_long_lists() {
    let chain = Chain::start().await;
    let narrow = [0, BLOCKS / 2, BLOCKS - 20].map(|from| chain.within(from, 20));
    let mut read = Vec::new();
    let mut before = chain.rows_read().await;
    for filter in narrow.iter().chain([&chain.filter]) {
        let store = open(&chain.url).await;
        chain.check(&store, filter, PageRequest::newest(25)).await;
        drop(store);
        let now = chain.rows_read().await;
        read.push(now - before);
        before = now;
    }
    let whole = read.pop().unwrap();
    println!("rows of lists read: {read:?} in ranges of blocks, {whole} in all");
    // A search in a list of 700 rows reads ten of them.
    assert!(whole >= 1_000 && read.iter().all(|rows| *rows <= 200), "{read:?} {whole}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_of_two_long_lists_does_not_grow_with_them() {
    let chain = Chain::start().await;
    let total = chain.expected(&chain.filter, PageRequest::newest(0)).total;
    let store = open(&chain.url).await;
    let page = |offset, order| PageRequest { offset, limit: 25, order };
    for order in [Order::NewestFirst, Order::OldestFirst] {
        for offset in [0, 1, 13, total / 3, total / 2, total - 20, total, total + 5] {
            chain.check(&store, &chain.filter, page(offset, order)).await;
        }
    }
    let kept = kept_ids(&store);
    assert!(total > 400 && kept < total / 2, "{kept} of {total}");
    // From elsewhere than the beginning, and in parts of what is known.
    for (from, count) in [(300, 1_500), (900, 300), (0, 1_950), (2_070, 900), (15, 2_082)] {
        let filter = chain.within(from, count);
        for offset in [0, 20, 100] {
            chain.check(&store, &filter, page(offset, Order::NewestFirst)).await;
        }
    }
    drop(store);

    // Found once, the rest of the lists is not read again.
    let mut before = chain.rows_read().await;
    let mut read = Vec::new();
    for pages in [1, 10] {
        let store = open(&chain.url).await;
        for offset in 0..pages {
            chain.check(&store, &chain.filter, page(offset, Order::NewestFirst)).await;
        }
        drop(store);
        let now = chain.rows_read().await;
        read.push(now - before);
        before = now;
    }
    println!("{kept} kept of {total}; rows of lists read by one page and by ten: {read:?}");
    assert!(read[1] < 3 * read[0], "{read:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_of_a_filter_on_two_lists_has_a_time_limit_in_the_server() {
    let server = Server::start();
    let url = server.database().await;
    let limited = PostgresOptions { statement_timeout: Duration::from_millis(300), ..options() };
    let store = PostgresStore::open(&url, limited).await.unwrap();
    let blocks = blocks(33, 20);
    store.writer().commit(blocks.clone(), KEEP).await.unwrap();
    let event = blocks.iter().flat_map(|changes| &changes.transfers).next().unwrap();
    let filter = TransferFilter { address: Some(event.from), token: Some(event.token), ..TransferFilter::default() };
    let page = PageRequest::newest(5);
    store.reader().list_transfers(&filter, page).await.unwrap();
    let operator = server.connect(&url).await;
    operator.batch_execute("begin; lock table explorer.transfer").await.unwrap();
    let failure = store.reader().list_transfers(&filter, page).await.unwrap_err();
    assert!(failure.is_transient() && failure_text(&failure).contains("statement timeout"), "{failure:?}");
    operator.batch_execute("rollback").await.unwrap();
    store.reader().list_transfers(&filter, page).await.unwrap();
}

fn failure_text(failure: &StoreError) -> String {
    match failure {
        StoreError::Unavailable { reason } => reason.clone(),
        other => other.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_is_abandoned_ends_in_the_server() {
    let server = Server::start();
    let url = server.database().await;
    let store = PostgresStore::open(&url, PostgresOptions { connections: 1, ..options() }).await.unwrap();
    let blocks = blocks(32, 20);
    store.writer().commit(blocks.clone(), KEEP).await.unwrap();
    // A transaction sees the activity as it was at first.
    let (locking, operator) = (server.connect(&url).await, server.connect(&url).await);
    locking.batch_execute("begin; lock table explorer.transfer").await.unwrap();
    let event = blocks.iter().flat_map(|changes| &changes.transfers).next().unwrap();
    let one = TransferFilter { token: Some(event.token), ..TransferFilter::default() };
    let combined = TransferFilter { address: Some(event.from), ..one };
    for filter in [one, combined] {
        let reader = store.reader();
        let query = async move { reader.list_transfers(&filter, PageRequest::newest(5)).await };
        let query = tokio::spawn(query);
        let waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
        let waiting = async || operator.query_one(waiting, &[]).await.unwrap().get::<_, i64>(0);
        eventually("the query waits", async || (waiting().await == 1).then_some(())).await;
        query.abort();
        eventually("the query is cancelled", async || (waiting().await == 0).then_some(())).await;
        // The only connection is free again.
        let tip = tokio::time::timeout(Duration::from_secs(60), store.reader().find_tip()).await;
        assert_eq!(tip.unwrap().unwrap(), blocks.last().map(|changes| changes.block.id()));
    }
}
