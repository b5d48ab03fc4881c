//! Two servers that can be written: the primary before a failover runs again, or still.

use std::time::Duration;

use super::{role, server::Server};
use crate::support::{DevNode, TestExplorer, eventually, expected_state, process::Process, read_api};

const EXPLORERS: &str = "from pg_stat_activity where application_name like 'explorer %' and datname <> 'postgres'";

/// A primary and a standby, whose database both have, and a chain that is indexed and served from there.
struct Cluster {
    first: Server,
    second: Server,
    url: String,
    name: String,
    node: DevNode,
    _processes: Vec<Process>,
    serving: TestExplorer,
}

impl Cluster {
    async fn start() -> Self {
        let first = Server::start();
        let second = first.start_standby();
        let own = first.database().await;
        let name = own.rsplit('/').next().unwrap().to_owned();
        let url = format!("postgres://explorer@{},{}/{name}", first.host(), second.host());
        let node = DevNode::start().await;
        let processes = ["index", "deliver"].map(|name| role(&node.url(), &url, name).spawn()).into();
        let serving = role(&node.url(), &url, "serve").start().await;
        node.chain.mine(None);
        node.wait_for(&serving).await;
        let cluster = Self { first, second, url, name, node, _processes: processes, serving };
        cluster.until_copied().await;
        cluster
    }

    async fn until_copied(&self) {
        let first = self.first.connect(&self.first.url(&self.name)).await;
        let second = self.second.connect(&self.second.url(&self.name)).await;
        eventually("the standby has everything", async || {
            let position: String =
                first.query_one("select pg_current_wal_insert_lsn()::text", &[]).await.unwrap().get(0);
            let sql = "select coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
            second.query_one(sql, &[&position]).await.unwrap().get::<_, bool>(0).then_some(())
        })
        .await;
    }

    async fn count(&self, server: &Server, sql: &str) -> i64 {
        let client = server.connect(&server.url(&self.name)).await;
        client.query_one(&format!("select count(*) {sql}"), &[]).await.unwrap().get(0)
    }

    /// All processes have to connect again.
    async fn cut(&self, server: &Server) {
        let client = server.connect(&server.url(&self.name)).await;
        client.query(&format!("select pg_terminate_backend(pid) {EXPLORERS}"), &[]).await.unwrap();
    }

    async fn tip(&self, server: &Server) -> i64 {
        let client = server.connect(&server.url(&self.name)).await;
        client.query_one("select tip_number from explorer.chain", &[]).await.unwrap().get(0)
    }
}

async fn shown(explorer: &TestExplorer) -> Option<i64> {
    let answer = explorer.get("/api/v1/blocks?limit=1").await;
    (answer.status == 200).then(|| answer.json["blocks"][0]["number"].as_i64().unwrap())
}

#[tokio::test]
async fn a_primary_that_returns_after_a_failover_is_neither_read_nor_written() {
    let cluster = Cluster::start().await;
    let Cluster { first, second, node, serving, .. } = &cluster;
    first.kill();
    second.promote();
    for _ in 0..3 {
        node.chain.mine(None);
    }
    node.wait_for(serving).await;
    let newest = shown(serving).await.unwrap();

    first.run_up();
    let left = cluster.tip(first).await;
    assert!(left < newest);
    // Whoever connects now could choose either one.
    for _ in 0..10 {
        cluster.cut(second).await;
        node.chain.mine(None);
        for _ in 0..10 {
            if let Some(number) = shown(serving).await {
                assert!(number >= newest, "block {number} after {newest}");
            }
        }
    }
    node.wait_for(serving).await;
    assert_eq!(cluster.tip(first).await, left, "nothing was written there");
    let sql = "from pg_locks where locktype = 'advisory' and database = (select oid from pg_database \
        where datname = current_database())";
    assert_eq!(cluster.count(first, sql).await, 0, "no second indexer, and no second matcher of webhooks");

    let warned = eventually("the old primary is shown", async || {
        let health = serving.json("/health").await;
        (health["database"]["oldPrimary"] == true).then_some(health)
    })
    .await;
    assert_eq!((&warned["status"], &warned["ready"]), (&"degraded".into(), &true.into()), "{warned}");
    serving.wait_for_log("is behind what this process has seen").await;
    // A process that has seen nothing prefers the newer one.
    let another = role(&node.url(), &cluster.url, "serve").start().await;
    node.wait_for(&another).await;

    // Better no answer than an older one.
    second.kill();
    eventually("the loss is noticed", async || shown(serving).await.is_none().then_some(())).await;
    for _ in 0..20 {
        assert_eq!(shown(serving).await, None, "no block of the old primary");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    second.run_up();
    node.chain.mine(None);
    node.wait_for(serving).await;
    first.kill();
    eventually("all is well again", async || (serving.json("/health").await["status"] == "ok").then_some(())).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(serving, expected.address_names()).await.assert_equals(&expected, "after the failover");
}

#[tokio::test]
async fn a_primary_that_still_runs_is_left_when_its_standby_was_promoted() {
    let cluster = Cluster::start().await;
    let Cluster { first, second, node, serving, .. } = &cluster;
    second.promote();
    eventually("all processes leave the old primary", async || {
        node.chain.mine(None);
        let (old, new) = (cluster.count(first, EXPLORERS).await, cluster.count(second, EXPLORERS).await);
        (old == 0 && new > 0).then_some(())
    })
    .await;
    serving.wait_for_log("a standby was promoted").await;
    node.chain.mine(None);
    node.wait_for(serving).await;
    let left = cluster.tip(first).await;
    assert_eq!(cluster.tip(second).await, i64::try_from(node.chain.head().number).unwrap());
    node.chain.mine(None);
    node.wait_for(serving).await;
    assert_eq!(cluster.tip(first).await, left);
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(serving, expected.address_names()).await.assert_equals(&expected, "after the promotion");
}
