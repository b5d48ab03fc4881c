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
        let expected = json!({
            "status": "ok",
            "live": true,
            "ready": true,
            "phase": "following",
            "tip": {"number": 1, "hash": node.chain.head().hash.to_string()},
            "nodeHead": 1,
            "lag": 0,
            "nodeReachable": true,
        });
        assert_eq!(answer.ok(), expected, "{path}");
    }
}
