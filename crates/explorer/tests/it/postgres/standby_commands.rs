//! Commands of the operator on a standby, and on what it is promoted to.

use super::{role, server::Server};
use crate::support::{DevNode, eventually, run_explorer};

/// The line of a table, in words.
fn line_of(text: &str, table: &str) -> Vec<String> {
    let mut lines = text.lines().map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    lines.find(|words| words.first().is_some_and(|word| word == table)).unwrap_or_else(|| panic!("no {table}: {text}"))
}

#[tokio::test]
async fn size_and_check_work_on_a_standby_and_after_its_promotion() {
    let primary = Server::start();
    let standby = primary.start_standby();
    let url = primary.database().await;
    let read_url = standby.url(url.rsplit('/').next().unwrap());
    let (node, _) = DevNode::with_traffic_without_traces(40).await;
    let indexing = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").variable("EXPLORER_READ_DATABASE", &read_url).start().await;
    node.wait_for(&serving).await;
    let operator = primary.connect(&url).await;
    operator.batch_execute("analyze explorer.transaction").await.unwrap();
    // What is analyzed has to arrive, too.
    let copied = standby.connect(&read_url).await;
    let position: String = operator.query_one("select pg_current_wal_insert_lsn()::text", &[]).await.unwrap().get(0);
    eventually("the standby has everything", async || {
        let sql = "select coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
        copied.query_one(sql, &[&position]).await.unwrap().get::<_, bool>(0).then_some(())
    })
    .await;
    drop((indexing, serving));

    for server in ["standby", "promoted"] {
        let (succeeded, text) = run_explorer(&["database", "size", "--database", &read_url]).await;
        assert!(succeeded, "{server}: {text}");
        let rows = line_of(&text, "transaction")[1].clone();
        assert!(rows.parse::<u64>().is_ok_and(|rows| rows >= 40), "{server}: {text}");
        let (succeeded, text) = run_explorer(&["check", "--database", &read_url]).await;
        assert!(succeeded && text.contains("all rows match"), "{server}: {text}");
        if server == "standby" {
            standby.promote();
        }
    }
}
