//! The example with Patroni: two servers of which one is promoted when the other is lost, and made a standby when it comes back.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use super::{
    role,
    server::{give, programs, unprivileged},
};
use crate::support::{
    DevNode, TestExplorer,
    deadline::eventually_within,
    eventually, expected_state,
    missing::{Facility, left_out},
    permits,
    port::Port,
    read_api,
};

const EXAMPLE: &str = include_str!("../../../../../deploy/postgres/patroni.yml");
/// The lease of the leader has to expire, and PostgreSQL to start, on a busy machine.
const FAILOVER: Duration = Duration::from_secs(180);

/// Two servers and the etcd in which they agree who leads.
struct Cluster {
    folder: TempDir,
    etcd: Child,
    etcd_port: Port,
    members: Vec<Member>,
}

struct Member {
    name: &'static str,
    rest: Port,
    postgres: Port,
    patroni: Option<Child>,
}

/// Which does not run as root.
fn command(program: &str, folder: &Path) -> Command {
    let mut command = unprivileged(Path::new(program));
    command.current_dir(folder).env("HOME", folder).stdin(Stdio::null());
    let log = || std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
    command.stdout(log()).stderr(log());
    command
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("patroni").tempdir_in("/tmp").unwrap();
        give(folder.path(), 0o755);
        let [etcd_port, peer] = [Port::reserve(), Port::reserve()];
        let (client, peer) = (format!("http://{}", etcd_port.address()), format!("http://{}", peer.address()));
        let etcd = command("etcd", folder.path())
            .args(["--name", "one", "--data-dir", "etcd", "--listen-client-urls", &client])
            .args(["--advertise-client-urls", &client, "--listen-peer-urls", &peer])
            .args(["--initial-advertise-peer-urls", &peer, "--initial-cluster", &format!("one={peer}")])
            .spawn()
            .unwrap();
        let member = |name| Member { name, rest: Port::reserve(), postgres: Port::reserve(), patroni: None };
        Self { folder, etcd, etcd_port, members: ["db1", "db2"].map(member).into() }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts Patroni, and so PostgreSQL, as the example says but for the addresses, and with shorter times.
    fn start_member(&mut self, member: usize) {
        let folder = self.folder.path();
        let mut text = EXAMPLE.to_owned();
        let sockets = format!("max_connections: 200\n        unix_socket_directories: {}", folder.display());
        for (given, used) in [
            ("ttl: 30", "ttl: 20"),
            ("loop_wait: 10", "loop_wait: 1"),
            ("retry_timeout: 10", "retry_timeout: 5"),
            ("synchronous_mode: false", "synchronous_mode: true"),
            ("max_connections: 200", sockets.as_str()),
            ("mode: automatic", "mode: \"off\""),
        ] {
            assert_eq!(text.matches(given).count(), 1, "{given}");
            text = text.replace(given, used);
        }
        let (etcd, name) = (self.etcd_port.address().to_string(), self.members[member].name);
        let config = self.file(&format!("{name}.yml"));
        std::fs::write(&config, text).unwrap();
        let [rest, postgres] =
            [&self.members[member].rest, &self.members[member].postgres].map(|port| port.address().to_string());
        let mut patroni = command("patroni", folder);
        patroni
            .arg(&config)
            .env("PATRONI_NAME", name)
            .env("PATRONI_ETCD3_HOSTS", etcd)
            .env("PATRONI_RESTAPI_LISTEN", &rest)
            .env("PATRONI_RESTAPI_CONNECT_ADDRESS", &rest)
            .env("PATRONI_POSTGRESQL_LISTEN", &postgres)
            .env("PATRONI_POSTGRESQL_CONNECT_ADDRESS", &postgres)
            .env("PATRONI_POSTGRESQL_DATA_DIR", self.file(name))
            .env("PATRONI_POSTGRESQL_PGPASS", self.file(&format!("{name}.pgpass")))
            .env("PATRONI_POSTGRESQL_BIN_DIR", programs());
        self.members[member].patroni = Some(patroni.spawn().unwrap());
    }

    /// Ends Patroni and PostgreSQL at once, as the loss of a machine does.
    fn kill_member(&mut self, member: usize) {
        if let Some(mut patroni) = self.members[member].patroni.take() {
            let _ = patroni.kill();
            let _ = patroni.wait();
        }
        let process = std::fs::read_to_string(self.file(self.members[member].name).join("postmaster.pid"));
        if let Some(id) = process.ok().and_then(|text| Some(text.lines().next()?.to_owned())) {
            let _ = Command::new("kill").args(["-9", &id]).status();
        }
    }

    async fn connect(&self, member: usize) -> Option<Client> {
        let port = self.members[member].postgres.number();
        let url = format!("postgres://postgres:change-me@127.0.0.1:{port}/postgres?connect_timeout=5");
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.ok()?;
        tokio::spawn(connection);
        Some(client)
    }

    async fn is_true(&self, member: usize, sql: &str) -> bool {
        let Some(client) = self.connect(member).await else { return false };
        client.query_one(&format!("select {sql}"), &[]).await.is_ok_and(|row| row.get(0))
    }

    async fn until(&self, member: usize, what: &str, sql: &str) {
        eventually_within(FAILOVER, &format!("{what}: {}", self.file("log").display()), async || {
            self.is_true(member, sql).await.then_some(())
        })
        .await;
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for member in 0..self.members.len() {
            self.kill_member(member);
        }
        let _ = self.etcd.kill();
        let _ = self.etcd.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.file("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().rev().take(80).collect();
            println!("{}", lines.into_iter().rev().collect::<Vec<_>>().join("\n"));
        }
    }
}

/// Blocks and readers, which never see an older block.
async fn load(node: &DevNode, serving: &TestExplorer, shown: &mut i64) {
    node.chain.mine(None);
    for _ in 0..5 {
        let answer = serving.get("/api/v1/blocks?limit=1").await;
        if answer.status == 200 {
            let number = answer.json["blocks"][0]["number"].as_i64().unwrap();
            assert!(number >= *shown, "block {number} after {shown}");
            *shown = number;
        }
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn patroni_replaces_a_lost_primary_under_load_and_it_comes_back_as_a_standby() {
    let is_installed = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !is_installed("patroni") || !is_installed("etcd") {
        return left_out(Facility::Patroni);
    }
    permits::busy().await;
    let mut cluster = Cluster::start();
    cluster.start_member(0);
    cluster.until(0, "the first server leads", "not pg_is_in_recovery()").await;
    let operator = cluster.connect(0).await.unwrap();
    operator.batch_execute("create role explorer login password 'secret'").await.unwrap();
    operator.batch_execute("create database explorer owner explorer").await.unwrap();
    cluster.start_member(1);
    let is_copied = "exists (select 1 from pg_stat_replication where sync_state = 'sync')";
    cluster.until(0, "the second server follows", is_copied).await;

    let ports = [0, 1].map(|member| cluster.members[member].postgres.number());
    let url = format!("postgres://explorer:secret@127.0.0.1:{},127.0.0.1:{}/explorer", ports[0], ports[1]);
    let node = DevNode::start().await;
    let _processes = ["index", "index", "deliver"].map(|name| role(&node.url(), &url, name).spawn());
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    let mut shown = 0;
    for _ in 0..5 {
        load(&node, &serving, &mut shown).await;
    }
    cluster.kill_member(0);
    eventually_within(FAILOVER, "the standby is promoted and indexed into", async || {
        load(&node, &serving, &mut shown).await;
        (cluster.is_true(1, "not pg_is_in_recovery()").await && serving.get("/health/ready").await.status == 200)
            .then_some(())
    })
    .await;
    node.wait_for(&serving).await;

    cluster.start_member(0);
    eventually_within(FAILOVER, "the old primary is a standby", async || {
        load(&node, &serving, &mut shown).await;
        cluster.is_true(1, is_copied).await.then_some(())
    })
    .await;
    assert!(cluster.is_true(0, "pg_is_in_recovery()").await);
    node.wait_for(&serving).await;
    eventually("all is well again", async || (serving.json("/health").await["status"] == "ok").then_some(())).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&serving, expected.address_names()).await.assert_equals(&expected, "after the failover");
}
