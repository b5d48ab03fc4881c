//! What the operator reads in the log of a start.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{DevNode, Launch, TestExplorer};

const CAUGHT_UP: &str = "the index has caught up with the node";

/// How often each message was logged, without times and fields.
fn messages(log: &str, is_json: bool) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in log.lines() {
        let message = if is_json {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"));
            line["fields"]["message"].as_str().unwrap().to_owned()
        } else {
            // A time, a level, the part of the program, and the message.
            line.split_whitespace().skip(3).take_while(|word| !word.contains('=')).collect::<Vec<_>>().join(" ")
        };
        *found.entry(message).or_default() += 1;
    }
    found
}

async fn restarted(explorer: TestExplorer, launch: Launch) -> TestExplorer {
    let (_, data) = explorer.stop().await;
    launch.on(&data).start().await
}

#[tokio::test]
async fn catching_up_is_logged_once_and_nothing_again_and_again() {
    let node = DevNode::start().await;
    // Enough for a backfill.
    for _ in 0..40 {
        node.chain.mine(None);
    }
    for (format, is_json) in [("text", false), ("json", true)] {
        let launch = || Launch::run(&node.url()).argument("--log-format", format);
        let explorer = launch().start().await;
        node.wait_for(&explorer).await;
        explorer.wait_for_log(CAUGHT_UP).await;
        for _ in 0..3 {
            node.chain.mine(None);
            node.wait_for(&explorer).await;
        }
        let counted = messages(&explorer.log(), is_json);
        assert_eq!(counted[CAUGHT_UP], 1, "{counted:?}");
        let often: Vec<_> =
            counted.iter().filter(|(message, count)| **count > 3 && *message != "backfilling").collect();
        assert!(often.is_empty(), "{often:?}");

        let explorer = restarted(explorer, launch()).await;
        node.wait_for(&explorer).await;
        explorer.wait_for_log(CAUGHT_UP).await;
        assert_eq!(messages(&explorer.log(), is_json)[CAUGHT_UP], 1);
    }
}

#[tokio::test]
async fn calls_to_the_node_are_logged_with_the_id_of_their_request() {
    let (node, _) = DevNode::with_traffic(20).await;
    let explorer = Launch::run(&node.url()).argument("--log", "node=debug,info").start().await;
    node.wait_for(&explorer).await;
    let hash = explorer.json("/api/v1/transactions").await["transactions"][0]["hash"].as_str().unwrap().to_owned();
    let client = explorer.client();
    let request = client.request("GET", &format!("/api/v1/transactions/{hash}")).header("X-Request-Id", "order-67");
    assert_eq!(client.send(request).await.status, 200);
    let logged = crate::support::eventually("a call of the request", async || {
        let log = explorer.log();
        let line = log.lines().find(|line| line.contains("the node answered") && line.contains("order-67"))?;
        Some(line.to_owned())
    });
    assert!(logged.await.contains("method=\"eth_get"), "the method of the call");
}
