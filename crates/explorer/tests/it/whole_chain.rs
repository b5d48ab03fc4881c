//! The whole API against all that the node knows.

use crate::support::{Anvil, DevNode, TestExplorer, ask_node, walk};

#[tokio::test]
async fn the_whole_api_agrees_with_a_dev_chain_with_traffic() {
    let (node, _) = DevNode::with_traffic(400).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let expected = ask_node(&node.rpc, 0, [NOBODY]).await;
    assert!(expected.transactions.len() > 400 && expected.addresses.len() > 40);
    walk(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
    assert_eq!(expected.addresses[NOBODY].detail, None);
}

const NOBODY: &str = "0x00000000000000000000000000000000deadbeef";

#[tokio::test]
async fn the_whole_api_agrees_with_anvil_for_every_kind_of_transaction() {
    let anvil = Anvil::with(&["--hardfork", "prague"]).await;
    crate::support::anvil_history::every_kind_of_transaction(&anvil).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    let expected = ask_node(&anvil.rpc, 0, [NOBODY]).await;
    walk(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}
