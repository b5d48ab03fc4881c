//! A process killed at any moment continues from its last commit.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use devchain::ReorgedTransactions::{Drop, Replay};

use crate::support::{
    DevNode, TestExplorer, assert_prompt_stop, eventually, expected_state, read_api, slow_proxy::SlowProxy,
};

fn random_below(limit: u64) -> u64 {
    RandomState::new().hash_one(()) % limit
}

async fn tip(explorer: &TestExplorer) -> Option<u64> {
    explorer.json("/health").await["tip"]["number"].as_u64()
}

#[tokio::test]
async fn repeated_kills_during_a_backfill_do_not_change_the_result() {
    let (node, _) = DevNode::with_traffic(1_600).await;
    let head = node.chain.head().number;
    let slow = SlowProxy::with_block_slots(&node.url(), Duration::from_millis(60), 2).await;
    let mut explorer = TestExplorer::start(&slow.url()).await;
    let (mut committed, mut kills) = (None, 0);
    loop {
        // Kill shortly after the next commit, so that each round makes progress.
        let seen = eventually("a commit", async || tip(&explorer).await.filter(|tip| Some(*tip) > committed)).await;
        tokio::time::sleep(Duration::from_millis(random_below(400))).await;
        if seen == head || kills == 5 {
            break;
        }
        let data = explorer.kill();
        kills += 1;
        explorer = TestExplorer::start_on(&slow.url(), &data).await;
        let found = eventually("the tip after the start", async || tip(&explorer).await).await;
        assert!(found >= seen, "{seen} was committed, {found} is left after kill {kills}");
        if found == head {
            break;
        }
        committed = Some(found);
    }
    assert!(kills >= 1, "the backfill was over before it could be killed");
    node.wait_for(&explorer).await;
    // Nearly every block is requested once: two calls each, plus a few in flight at a kill. Token and pool metadata is
    // requested too, some of it again after a kill.
    assert!(slow.requests() < 4 * head + 1_000, "{} requests for {head} blocks", slow.requests());

    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

#[tokio::test]
async fn kills_during_reorgs_end_at_the_tip_of_the_node() {
    let (node, mut traffic) = DevNode::with_traffic(80).await;
    let mut explorer = TestExplorer::start(&node.ws_url()).await;
    node.wait_for(&explorer).await;
    for round in 0..6_u64 {
        for step in 0..6_u64 {
            traffic.step().unwrap();
            node.chain.mine(None);
            node.chain.reorg(1 + step, step, if step % 2 == 0 { Replay } else { Drop }).unwrap();
            tokio::time::sleep(Duration::from_millis(random_below(20))).await;
        }
        let data = explorer.kill();
        if round % 2 == 0 {
            node.chain.reorg(4, 6, Drop).unwrap();
        }
        explorer = TestExplorer::start_on(&node.ws_url(), &data).await;
    }
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

#[tokio::test]
async fn a_stop_during_a_backfill_takes_at_most_two_seconds_and_loses_nothing() {
    let (node, _) = DevNode::with_traffic(400).await;
    let slow = SlowProxy::with_block_slots(&node.url(), Duration::from_millis(40), 2).await;
    let explorer = TestExplorer::start(&slow.url()).await;
    let seen = eventually("a commit", async || tip(&explorer).await).await;
    assert!(seen < node.chain.head().number, "still under way");
    let (ended, data) = explorer.stop().await;
    assert_prompt_stop(&ended);

    let explorer = TestExplorer::start_on(&node.url(), &data).await;
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

#[tokio::test]
async fn a_stop_while_the_node_hangs_takes_at_most_two_seconds() {
    let node = DevNode::start().await;
    let hanging = SlowProxy::in_front_of(&node.url(), Duration::from_secs(3_600)).await;
    let explorer = TestExplorer::start(&hanging.url()).await;
    eventually("a question", async || (hanging.requests() > 0).then_some(())).await;
    let (ended, _) = explorer.stop().await;
    assert_prompt_stop(&ended);
}
