//! Two servers that can be written: the primary before a failover runs again, or still.

use domain::{BlockChanges, BlockRef};
use store::{ChainReader, ChainWriter, StoreError};
use store_postgres::{PostgresReader, PostgresStore, PostgresWriter};

use crate::{
    processes::{KEEP, blocks, eventually},
    server::{Server, open},
};

struct Servers {
    first: Server,
    second: Server,
    name: String,
    url: String,
}

impl Servers {
    async fn start() -> Self {
        let first = Server::start();
        let second = first.start_standby();
        let own = first.database().await;
        let name = own.rsplit('/').next().unwrap().to_owned();
        let url = format!("postgres://explorer@{},{}/{name}", first.host(), second.host());
        Self { first, second, name, url }
    }

    async fn until_copied(&self) {
        let first = self.first.connect(&self.first.url(&self.name)).await;
        let second = self.second.connect(&self.second.url(&self.name)).await;
        let position: String = first.query_one("select pg_current_wal_insert_lsn()::text", &[]).await.unwrap().get(0);
        eventually("the standby has everything", async || {
            let sql = "select coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
            second.query_one(sql, &[&position]).await.unwrap().get::<_, bool>(0).then_some(())
        })
        .await;
    }

    async fn number(&self, server: &Server, sql: &str) -> i64 {
        server.connect(&server.url(&self.name)).await.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// All stores have to connect again.
    async fn cut(&self, server: &Server) {
        let sql =
            "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name like 'explorer %'";
        self.number(server, sql).await;
    }
}

const CONNECTIONS: &str = "select count(*) from pg_stat_activity where application_name like 'explorer %'";
const TIP: &str = "select tip_number from explorer.chain";

/// Tries again while no server answers.
async fn commit(writer: &mut PostgresWriter, block: &BlockChanges) {
    for attempt in 0.. {
        match writer.commit(vec![block.clone()], KEEP).await {
            Ok(()) => return,
            // The outcome of the first attempt may have been lost with its connection.
            Err(StoreError::NotNextBlock { tip, .. }) if tip == Some(block.block.number) => return,
            Err(error) => assert!(error.is_transient() && attempt < 600, "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

async fn until_tip(reader: &PostgresReader, tip: BlockRef) {
    eventually("the reader has the tip", async || (reader.find_tip().await.ok()? == Some(tip)).then_some(())).await;
}

async fn opened(servers: &Servers) -> (PostgresStore, PostgresStore, PostgresWriter) {
    let (indexing, serving) = (open(&servers.url).await, open(&servers.url).await);
    let writer = indexing.writer();
    (indexing, serving, writer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_returns_after_a_failover_is_neither_read_nor_written() {
    let servers = Servers::start().await;
    let Servers { first, second, .. } = &servers;
    let (_indexing, serving, mut writer) = opened(&servers).await;
    let (blocks, reader) = (blocks(21, 30), serving.reader());
    commit(&mut writer, &blocks[0]).await;
    until_tip(&reader, blocks[0].block.id()).await;
    servers.until_copied().await;
    first.kill();
    second.promote();
    commit(&mut writer, &blocks[1]).await;
    until_tip(&reader, blocks[1].block.id()).await;

    first.run_up();
    for block in &blocks[2..12] {
        servers.cut(second).await;
        for _ in 0..5 {
            if let Ok(tip) = reader.find_tip().await {
                assert!(
                    tip.is_some_and(|tip| tip.number >= block.block.number - 1),
                    "{tip:?} before {:?}",
                    block.block.number
                );
            }
        }
        commit(&mut writer, block).await;
        until_tip(&reader, block.block.id()).await;
    }
    assert_eq!(servers.number(first, TIP).await, 0, "nothing was written there");
    let locks = "select count(*) from pg_locks where locktype = 'advisory'";
    assert_eq!(servers.number(first, locks).await, 0);
    eventually("it is noticed", async || serving.has_old_primary().then_some(())).await;
    // A process that has seen nothing prefers the newer one.
    let another = open(&servers.url).await;
    assert_eq!(another.reader().find_tip().await.unwrap(), Some(blocks[11].block.id()));

    // Better no answer than an older one.
    second.kill();
    for _ in 0..20 {
        let found = reader.find_tip().await;
        assert!(found.as_ref().is_err_and(StoreError::is_transient), "{found:?}");
    }
    second.run_up();
    commit(&mut writer, &blocks[12]).await;
    until_tip(&reader, blocks[12].block.id()).await;
    first.kill();
    eventually("it is gone", async || (!serving.has_old_primary()).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_still_runs_is_left_when_its_standby_was_promoted() {
    let servers = Servers::start().await;
    let Servers { first, second, .. } = &servers;
    let (_indexing, serving, mut writer) = opened(&servers).await;
    let (blocks, reader) = (blocks(22, 5), serving.reader());
    commit(&mut writer, &blocks[0]).await;
    servers.until_copied().await;
    second.promote();
    eventually("the stores leave the old primary", async || {
        let _ = (reader.find_tip().await, writer.tip().await);
        let (old, new) = (servers.number(first, CONNECTIONS).await, servers.number(second, CONNECTIONS).await);
        (old == 0 && new > 0).then_some(())
    })
    .await;
    for block in &blocks[1..] {
        commit(&mut writer, block).await;
        until_tip(&reader, block.block.id()).await;
    }
    assert_eq!((servers.number(first, TIP).await, servers.number(second, TIP).await), (0, 4));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_version_of_the_old_primary_is_used_again_after_a_failover_that_lost_commits() {
    let servers = Servers::start().await;
    let Servers { first, second, .. } = &servers;
    let (_indexing, serving, mut writer) = opened(&servers).await;
    let (kept, reader) = (blocks(23, 8), serving.reader());
    commit(&mut writer, &kept[0]).await;
    servers.until_copied().await;
    // The standby receives nothing any more.
    let copied = second.connect(&second.url(&servers.name)).await;
    copied.batch_execute("alter system set primary_conninfo = ''").await.unwrap();
    copied.batch_execute("select pg_reload_conf()").await.unwrap();
    eventually("the standby is alone", async || {
        (servers.number(first, "select count(*) from pg_stat_replication").await == 0).then_some(())
    })
    .await;
    let mut states = Vec::new();
    for block in &kept[1..4] {
        commit(&mut writer, block).await;
        until_tip(&reader, block.block.id()).await;
        states.push(eventually("a version", async || reader.state()).await);
    }
    first.kill();
    second.promote();
    until_tip(&reader, kept[0].block.id()).await;
    // As many commits as there were.
    for block in &kept[1..6] {
        commit(&mut writer, block).await;
        until_tip(&reader, block.block.id()).await;
        let state = eventually("a version", async || reader.state()).await;
        assert!(!states.contains(&state), "{state:?} is that of another state");
    }
}
