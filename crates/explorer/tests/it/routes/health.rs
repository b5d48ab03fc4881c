use serde_json::json;

use crate::support::{DevNode, TestExplorer};

#[tokio::test]
async fn health_reports_the_tip_of_the_index_and_of_the_node() {
    let node = DevNode::start().await;
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for path in ["/health", "/health/live", "/health/ready"] {
        let mined = std::time::UNIX_EPOCH + std::time::Duration::from_secs(node.chain.head().timestamp);
        let age_before = mined.elapsed().unwrap().as_secs();
        let answer = explorer.get(path).await;
        let ages = age_before..=mined.elapsed().unwrap().as_secs();
        assert_eq!(answer.header("cache-control"), "no-store");
        let running = |name: &str| json!({ "name": name, "state": "running", "restarts": 0 });
        let tasks = ["key-uses", "webhook-dispatcher", "webhook-housekeeping", "webhook-matcher"].map(running);
        let mut health = answer.ok();
        let age = health.as_object_mut().unwrap().remove("tipAge").unwrap();
        assert!(age.as_u64().is_some_and(|age| ages.contains(&age)), "{age} is not in {ages:?}");
        let genesis = node.chain.block(0_u64).unwrap().summary().hash.to_string();
        let expected = json!({
            "status": "ok",
            "live": true,
            "ready": true,
            "phase": "following",
            "tip": {"number": 1, "hash": node.chain.head().hash.to_string()},
            "chain": {"id": 31_337, "genesisHash": genesis},
            "chainChanged": false,
            "chainQuiet": false,
            "nodeHead": 1,
            "lag": 0,
            "nodeReachable": true,
            "reportAge": 0,
            "database": null,
            "readDatabase": null,
            "rejectedBlock": null,
            "waitingFor": null,
            "tasks": tasks,
            "webhooks": {"count": 0, "pending": 0, "dropped": 0},
        });
        assert_eq!(health, expected, "{path}");
    }
}
