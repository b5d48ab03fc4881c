use serde_json::{Value, json};

use crate::support::{DevNode, TestExplorer};

#[tokio::test]
async fn health_shows_the_background_tasks() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let health = explorer.json("/health").await;
    let tasks: Vec<(&Value, &Value, &Value)> = health["tasks"]
        .as_array()
        .unwrap_or_else(|| panic!("{health}"))
        .iter()
        .map(|task| (&task["name"], &task["state"], &task["restarts"]))
        .collect();
    let running = |name: &'static str| (json!(name), json!("running"), json!(0));
    let expected = ["key-uses", "webhook-dispatcher", "webhook-housekeeping", "webhook-matcher"].map(running);
    assert_eq!(tasks, expected.iter().map(|(name, state, restarts)| (name, state, restarts)).collect::<Vec<_>>());
    assert_eq!(health["status"], "ok");
}
