//! The state of the index on an open page, in a real browser.

use super::other_chain;
use crate::support::{DevNode, TestExplorer, eventually, permits, wallet_clients::run_client};

#[tokio::test]
async fn an_open_page_shows_what_happens_to_the_node_and_its_chain() {
    // Before anything waits for the browser.
    permits::busy().await;
    let mut node = DevNode::start().await;
    node.chain.mine(None);
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let steps = tempfile::NamedTempFile::new().unwrap();
    let path = steps.path().to_str().unwrap().to_owned();
    let url = explorer.client().url("");
    let arguments = [url.as_str(), &path];
    let reader = run_client("state.mjs", &arguments);
    // The page says when it has seen one thing, then the next one happens.
    let operator = async {
        let reached = async |step: &str| {
            eventually(step, async || std::fs::read_to_string(&path).unwrap().contains(step).then_some(())).await;
        };
        reached("synced").await;
        node.chain.mine(None);
        reached("next block").await;
        node.stop_serving().await;
        reached("unreachable").await;
        node.resume_serving().await;
        reached("back").await;
        node.restart_with(other_chain(5, 3)).await;
    };
    let (passed, ()) = tokio::join!(reader, operator);
    assert!(passed.as_array().is_some_and(|scenarios| scenarios.len() == 1), "{passed}");
}
