//! After a reorganisation nothing of the branch that was left remains: the index equals one that never saw it.

mod anvil;
mod dev_chain;
mod too_deep;

use crate::support::{Rpc, TestExplorer, ask_node, picture::Picture, walk};

/// Compares with the node and with a new index of the chain as it is now; gives the picture for the next time.
async fn assert_as_if_it_were_new(explorer: &TestExplorer, rpc: &Rpc, before: &Picture, what: &str) -> Picture {
    let expected = ask_node(rpc, 0, before.address_names()).await;
    let found = walk(explorer, expected.address_names()).await;
    found.assert_equals(&expected, &format!("{what}: explorer and node"));

    let fresh = TestExplorer::start(rpc.url()).await;
    let (number, hash) = rpc.head().await;
    fresh.wait_for_tip(number, &hash).await;
    found.assert_equals(&walk(&fresh, expected.address_names()).await, &format!("{what}: old index and new"));

    let now = found.paths_by_hash();
    let client = explorer.client().with_connection_kept();
    for path in before.paths_by_hash().iter().filter(|path| !now.contains(path)) {
        assert_eq!(client.get(path).await.status, 404, "{what}: {path} is gone");
    }
    found
}
