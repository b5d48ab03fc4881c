//! Faults of the database while explorers use it: a full disk, and a migration that is interrupted.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use super::{on_database, server::Server};
use crate::support::{
    DevNode, Launch, eventually, expected_state,
    missing::{Facility, left_out},
    read_api,
};

/// A file system of a few megabytes, unmounted when it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None if the system does not permit it.
    fn mount(folder: &Path, megabytes: u32) -> Option<Self> {
        let options = format!("size={megabytes}m,mode=0777");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(folder.to_owned()))
    }

    /// Uses all of it, and returns the file that does.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = std::fs::File::create(&path).unwrap();
        for bytes in [1 << 20, 1 << 12] {
            while file.write_all(&vec![1; bytes]).is_ok() {}
        }
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk_of_the_database_pauses_indexing_but_not_reads() {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), 64) else {
        return left_out(Facility::Mounts);
    };
    let server = Server::start();
    let tables = disk.0.join("tables");
    std::fs::create_dir(&tables).unwrap();
    server.give(&tables, 0o700);
    let operator = server.connect(&server.url("postgres")).await;
    let sql = format!("create tablespace small location '{}'", tables.display());
    operator.execute(&sql, &[]).await.unwrap();
    operator.execute("create database filled tablespace small", &[]).await.unwrap();
    let url = server.url("filled");

    let (node, mut traffic) = DevNode::with_traffic_without_traces(60).await;
    let explorer = on_database(Launch::run(&node.url()), &url).start().await;
    node.wait_for(&explorer).await;
    let filler = disk.fill();
    let reason = eventually("the index to wait", async || {
        for _ in 0..20 {
            traffic.step().unwrap();
            node.chain.mine(None);
        }
        let health = explorer.json("/health").await;
        assert_eq!(health["live"], true);
        health["waitingFor"].as_str().map(str::to_owned)
    })
    .await;
    assert!(reason.contains("the database says") && reason.contains("No space left on device"), "{reason}");
    assert_eq!(explorer.json("/health").await["status"], "degraded");
    explorer.wait_for_log("No space left on device").await;
    let blocks = explorer.get("/api/v1/blocks?limit=1").await;
    assert_eq!(blocks.status, 200, "what is indexed is served");

    std::fs::remove_file(filler).unwrap();
    node.wait_for(&explorer).await;
    assert!(explorer.json("/health").await["waitingFor"].is_null());
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

/// Creates the tables as an earlier version did, up to a migration.
async fn migrate_to(client: &tokio_postgres::Client, last: i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store-postgres/migrations");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let begin = "create schema explorer; set search_path = explorer;
        create table schema_migration (number int4 primary key, applied_at timestamptz not null default now())";
    client.batch_execute(begin).await.unwrap();
    for (number, file) in (1..=last).zip(files) {
        client.batch_execute(&std::fs::read_to_string(file).unwrap()).await.unwrap();
        client.execute("insert into schema_migration (number) values ($1)", &[&number]).await.unwrap();
    }
}

#[tokio::test]
async fn an_interrupted_migration_leaves_nothing_behind_and_is_done_at_the_next_start() {
    let server = Server::shared();
    let url = server.database().await;
    let (node, mut traffic) = DevNode::with_traffic_without_traces(40).await;
    let mut operator = server.connect(&url).await;
    migrate_to(&operator, 7).await;

    // A lock in the middle of the next one.
    let blocking = operator.transaction().await.unwrap();
    blocking.batch_execute("lock table explorer.schema_migration in share mode").await.unwrap();
    let mut migrating = on_database(Launch::run(&node.url()), &url).spawn();
    let observer = server.connect(&url).await;
    let waiting = async || {
        let sql = "select 1 from pg_locks where relation = 'explorer.schema_migration'::regclass and not granted";
        (!observer.query(sql, &[]).await.unwrap().is_empty()).then_some(())
    };
    eventually("the migration waits", waiting).await;
    migrating.kill();
    // The server notices that the process is gone when its statement has the lock.
    blocking.rollback().await.unwrap();
    eventually("the server notices", async || {
        let sql =
            "select 1 from pg_stat_activity where datname = current_database() and application_name like 'explorer %'";
        observer.query(sql, &[]).await.unwrap().is_empty().then_some(())
    })
    .await;
    let begun: bool = {
        let sql = "select to_regclass('explorer.queue_owner') is not null";
        observer.query_one(sql, &[]).await.unwrap().get(0)
    };
    assert!(!begun, "a migration is applied as a whole");

    let explorer = on_database(Launch::run(&node.url()), &url).start().await;
    traffic.step().unwrap();
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "after the migration");
}
