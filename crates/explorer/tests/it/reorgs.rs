//! After a reorg nothing of the orphaned branch remains: the index equals the chain of the node.

mod anvil;
mod dev_chain;
mod too_deep;

use crate::support::{Rpc, TestExplorer, api_state::ApiState, expected_state, read_api};

/// Compares everything with the node; returns the state for the next comparison.
async fn assert_equals_node(explorer: &TestExplorer, rpc: &Rpc, before: &ApiState, what: &str) -> ApiState {
    let expected = expected_state(rpc, 0, before.address_names()).await;
    let found = read_api(explorer, expected.address_names()).await;
    found.assert_equals(&expected, &format!("{what}: explorer and node"));

    let now = found.paths_by_hash();
    let client = explorer.client().with_keep_alive();
    for path in before.paths_by_hash().iter().filter(|path| !now.contains(path)) {
        assert_eq!(client.get(path).await.status, 404, "{what}: {path} is gone");
    }
    found
}
