//! After a reorg nothing of the orphaned branch remains: the index equals one that never saw it.

mod anvil;
mod dev_chain;
mod too_deep;

use crate::support::{Rpc, TestExplorer, api_state::ApiState, expected_state, read_api};

/// Compares with the node and with a new index of the current chain; returns the state for the next comparison.
async fn assert_equals_new_index(explorer: &TestExplorer, rpc: &Rpc, before: &ApiState, what: &str) -> ApiState {
    let expected = expected_state(rpc, 0, before.address_names()).await;
    let found = read_api(explorer, expected.address_names()).await;
    found.assert_equals(&expected, &format!("{what}: explorer and node"));

    let fresh = TestExplorer::start(rpc.url()).await;
    let (number, hash) = rpc.head().await;
    fresh.wait_for_tip(number, &hash).await;
    found.assert_equals(&read_api(&fresh, expected.address_names()).await, &format!("{what}: old index and new"));

    let now = found.paths_by_hash();
    let client = explorer.client().with_keep_alive();
    for path in before.paths_by_hash().iter().filter(|path| !now.contains(path)) {
        assert_eq!(client.get(path).await.status, 404, "{what}: {path} is gone");
    }
    found
}
