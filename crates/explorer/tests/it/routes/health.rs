use serde_json::json;

use crate::support::{DevNode, TestExplorer};

#[tokio::test]
async fn health_tells_where_the_index_and_the_node_are() {
    let node = DevNode::start().await;
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for path in ["/health", "/health/live", "/health/ready"] {
        let answer = explorer.get(path).await;
        assert_eq!(answer.header("cache-control"), "no-store");
        let running = |name: &str| json!({ "name": name, "state": "running", "restarts": 0 });
        let tasks = ["key-uses", "webhook-dispatcher", "webhook-housekeeping", "webhook-matcher"].map(running);
        let expected = json!({
            "status": "ok",
            "live": true,
            "ready": true,
            "phase": "following",
            "tip": {"number": 1, "hash": node.chain.head().hash.to_string()},
            "nodeHead": 1,
            "lag": 0,
            "nodeReachable": true,
            "tasks": tasks,
            "webhooks": {"count": 0, "pending": 0, "dropped": 0},
        });
        assert_eq!(answer.ok(), expected, "{path}");
    }
}
