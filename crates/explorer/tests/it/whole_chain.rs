//! The whole API against the node's own data.

use crate::support::{Anvil, DevNode, TestExplorer, expected_state, read_api};

#[tokio::test]
async fn the_whole_api_agrees_with_a_dev_chain_with_traffic() {
    let (node, _) = DevNode::with_traffic(400).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, [UNUSED_ADDRESS]).await;
    assert!(expected.transactions.len() > 400 && expected.addresses.len() > 40);
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
    assert_eq!(expected.addresses[UNUSED_ADDRESS].detail, None);
}

const UNUSED_ADDRESS: &str = "0x00000000000000000000000000000000deadbeef";

#[tokio::test]
async fn the_whole_api_agrees_with_anvil_for_every_kind_of_transaction() {
    let anvil = Anvil::with(&["--hardfork", "prague"]).await;
    crate::support::anvil_history::every_kind_of_transaction(&anvil).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    let expected = expected_state(&anvil.rpc, 0, [UNUSED_ADDRESS]).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}
