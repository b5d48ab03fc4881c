//! Reads from a standby.

use domain::{BlockChanges, BlockRef, Transaction};
use store::{AddressReader, ChainReader, ChainWriter, TransactionReader};
use store_postgres::{PostgresOptions, PostgresReader, PostgresStore};
use tokio_postgres::Client;

use crate::{
    processes::{KEEP, blocks, eventually},
    server::{Server, open, options},
};

/// A primary with a store that writes, and a standby with one that reads from it.
struct Servers {
    primary: Server,
    standby: Server,
    url: String,
    standby_url: String,
    indexer: PostgresStore,
    serving: PostgresStore,
}

impl Servers {
    async fn start() -> Self {
        let primary = Server::start();
        let standby = primary.start_standby();
        let url = primary.database().await;
        let standby_url = standby.url(url.rsplit('/').next().unwrap());
        let indexer = open(&url).await;
        let read_url = Some(standby_url.clone());
        let serving = PostgresStore::open(&url, PostgresOptions { read_url, ..options() }).await.unwrap();
        Self { primary, standby, url, standby_url, indexer, serving }
    }
}

async fn until_tip(reader: &PostgresReader, tip: BlockRef) {
    eventually("the reader has the tip", async || (reader.find_tip().await.unwrap() == Some(tip)).then_some(())).await;
}

async fn until_used(store: &PostgresStore, is_used: bool) {
    let status = store.replica().unwrap();
    eventually("the standby is used or not", async || (status.borrow().is_used == is_used).then_some(())).await;
}

/// Blocks may be empty.
fn some_transaction(blocks: &[BlockChanges]) -> &Transaction {
    blocks.iter().find_map(|changes| changes.transactions.first()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_read_unless_it_lacks_what_was_shown_or_is_too_far_behind() {
    let Servers { primary, standby, standby_url, indexer, serving, .. } = Servers::start().await;
    let reader = serving.reader();
    let blocks = blocks(5, 5);
    let mut writer = indexer.writer();
    writer.commit(blocks[..2].to_vec(), KEEP).await.unwrap();
    until_tip(&reader, blocks[1].block.id()).await;
    until_used(&serving, true).await;

    // A standby that stands still is read for a while, and then no longer.
    let copied = standby.connect(&standby_url).await;
    copied.batch_execute("select pg_wal_replay_pause()").await.unwrap();
    let paused = async || {
        let state: String = copied.query_one("select pg_get_wal_replay_pause_state()", &[]).await.unwrap().get(0);
        (state == "paused").then_some(())
    };
    eventually("the standby stands still", paused).await;
    writer.commit(vec![blocks[2].clone()], KEEP).await.unwrap();
    assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[1].block.id()), "read from the standby");
    until_used(&serving, false).await;
    assert!(serving.replica().unwrap().borrow().behind.as_secs() >= 5);
    assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[2].block.id()), "read from the primary");
    assert_eq!(reader.state(), indexer.reader().state());

    // Once it has what was shown, it is read again; the chain never goes back.
    copied.batch_execute("select pg_wal_replay_resume()").await.unwrap();
    for step in 0.. {
        assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[2].block.id()), "after {step} reads");
        if serving.replica().unwrap().borrow().is_used {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }

    // Without the standby, and with it again.
    standby.kill();
    assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[2].block.id()));
    writer.commit(vec![blocks[3].clone()], KEEP).await.unwrap();
    assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[3].block.id()));
    until_used(&serving, false).await;
    let failure = serving.replica().unwrap().borrow().failure.clone();
    assert!(failure.is_some());
    standby.run_up();
    until_used(&serving, true).await;
    assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[3].block.id()));

    // Without the primary, the standby is read.
    writer.commit(vec![blocks[4].clone()], KEEP).await.unwrap();
    until_tip(&reader, blocks[4].block.id()).await;
    until_used(&serving, true).await;
    primary.kill();
    for _ in 0..20 {
        assert_eq!(reader.find_tip().await.unwrap(), Some(blocks[4].block.id()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_cuts_connections_fails_no_read() {
    let Servers { primary: _primary, standby, standby_url, indexer, serving, .. } = Servers::start().await;
    let blocks = blocks(6, 40);
    indexer.writer().commit(blocks.clone(), KEEP).await.unwrap();
    let reader = serving.reader();
    let address = some_transaction(&blocks).from;
    let expected = indexer.reader().find_address_overview(address, 5).await.unwrap();
    assert!(expected.is_some());
    until_tip(&reader, blocks[39].block.id()).await;
    let operator = standby.connect(&standby_url).await;
    let sql = "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'explorer %'";
    for _ in 0..5 {
        until_used(&serving, true).await;
        assert!(!operator.query(sql, &[]).await.unwrap().is_empty());
        for _ in 0..20 {
            assert_eq!(reader.find_address_overview(address, 5).await.unwrap(), expected);
        }
    }
}

/// Locks a table of the primary until the connection is closed. The lock reaches the standby with the next record that is
/// written to disk.
async fn lock(primary: &Server, url: &str, table: &str) -> Client {
    let owner = primary.connect(url).await;
    owner.batch_execute(&format!("begin; lock table explorer.{table} in access exclusive mode")).await.unwrap();
    let other = primary.connect(url).await;
    other.batch_execute(&format!("create table after_lock_of_{table} ()")).await.unwrap();
    owner
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_a_standby_cancels_is_answered_by_the_primary() {
    let Servers { primary, standby, url, standby_url, indexer, serving } = Servers::start().await;
    let blocks = blocks(7, 20);
    indexer.writer().commit(blocks.clone(), KEEP).await.unwrap();
    let reader = serving.reader();
    until_tip(&reader, blocks[19].block.id()).await;
    until_used(&serving, true).await;
    let operator = standby.connect(&standby_url).await;
    operator.batch_execute("alter system set max_standby_streaming_delay = 0").await.unwrap();
    operator.batch_execute("select pg_reload_conf()").await.unwrap();
    let count = async |sql: &str| operator.query_one(sql, &[]).await.unwrap().get::<_, i64>(0);

    // The query has one table, and waits for the other on the standby.
    let addresses = lock(&primary, &url, "address").await;
    let locks = "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted";
    eventually("the lock is on the standby", async || (count(locks).await > 0).then_some(())).await;
    let expected = some_transaction(&blocks);
    let hash = expected.hash;
    let query = tokio::spawn(async move { reader.find_transaction(hash).await });
    let waiting = "select count(*) from pg_stat_activity
        where wait_event_type = 'Lock' and application_name like 'explorer %'";
    eventually("the query waits", async || (count(waiting).await > 0).then_some(())).await;

    // The standby cannot apply this one before the query has ended.
    let transactions = lock(&primary, &url, "transaction").await;
    let conflicts = "select coalesce(sum(confl_lock), 0)::int8 from pg_stat_database_conflicts";
    eventually("the query is cancelled", async || (count(conflicts).await > 0).then_some(())).await;
    drop((addresses, transactions));
    let found = query.await.unwrap().unwrap();
    assert_eq!(found.map(|transaction| transaction.hash), Some(hash));
    until_used(&serving, true).await;
    assert_eq!(serving.reader().find_transaction(hash).await.unwrap().unwrap().from, expected.from);
}
