use devchain::ReorgedTransactions;

use crate::support::{DevNode, Launch, TestExplorer, assert_prompt_stop, eventually, expected_state, read_api};

#[tokio::test]
async fn a_reorg_deeper_than_the_undo_data_stops_indexing_but_not_serving() {
    let node = DevNode::start().await;
    for _ in 0..300 {
        node.chain.mine(None);
    }
    // As on a public chain: by default, the index of a dev chain starts over.
    let launch = || Launch::run(&node.url()).argument("--on-new-chain", "halt");
    let explorer = launch().start().await;
    node.wait_for(&explorer).await;
    let before = expected_state(&node.rpc, 0, []).await;
    let (blocks, tip) = (before.blocks.clone(), explorer.json("/health").await["tip"].clone());

    node.chain.reorg(290, 295, ReorgedTransactions::Drop).unwrap();
    let health = eventually("the halt", async || {
        let health = explorer.json("/health").await;
        (health["status"] == "halted").then_some(health)
    })
    .await;
    assert_eq!((&health["phase"], &health["ready"], &health["live"]), (&"halted".into(), &false.into(), &true.into()));
    assert_eq!(health["tip"], tip, "the tip stays");
    assert_eq!(explorer.get("/health/ready").await.status, 503);
    explorer.wait_for_log("index again with an empty data").await;

    let served = read_api(&explorer, []).await;
    assert_eq!(served.blocks, blocks);
    let (ended, data) = explorer.stop().await;
    assert_prompt_stop(&ended);

    // The fix that the log suggests.
    let again = launch().on(&data).start().await;
    eventually("the halt again", async || (again.json("/health").await["status"] == "halted").then_some(())).await;
    drop(again);
    let fresh = TestExplorer::start(&node.url()).await;
    node.wait_for(&fresh).await;
}
