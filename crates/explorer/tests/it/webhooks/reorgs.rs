//! Messages of orphaned blocks.

use std::collections::BTreeSet;

use alloy_primitives::{TxKind, U256};
use devchain::ReorgedTransactions::{Drop, Replay};
use serde_json::json;

use super::{launch, register};
use crate::support::{
    DevNode, eventually,
    fixture::lower_hex,
    receiver::{Behavior, Receiver},
};

fn mine(node: &DevNode, blocks: usize) {
    for _ in 0..blocks {
        node.chain.mine(None);
    }
}

#[tokio::test]
async fn a_reorg_sends_removals_to_subscribers_and_new_events_for_the_new_branch() {
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).start().await;
    mine(&node, 5);
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let bob = lower_hex(node.account(1));
    register(&explorer, &receiver.url("/asked"), &bob, &["tx", "removed"]).await;
    register(&explorer, &receiver.url("/not"), &bob, &["tx"]).await;
    let hash = node.chain.send(0, TxKind::Call(node.account(1)), U256::from(1), []).unwrap();
    node.chain.mine(None);
    let delivered = receiver.wait_for("/asked", 1).await.remove(0);
    receiver.wait_for("/not", 1).await;
    eventually("the success", async || {
        let list = explorer.json(&format!("/api/v1/webhooks?owner={bob}")).await;
        let webhooks = list["webhooks"].as_array().unwrap().clone();
        webhooks.iter().all(|webhook| webhook["lastTriggeredAt"].is_string()).then_some(())
    })
    .await;

    node.chain.reorg(2, 3, Replay).unwrap();
    node.wait_for(&explorer).await;
    let all = receiver.wait_for("/asked", 3).await;
    // Both may be in flight at once and arrive in either order.
    let of_kind = |kind: &str| all[1..].iter().find(|message| message.header("x-explorer-event") == kind).unwrap();
    let (removed, again) = (of_kind("removed"), of_kind("tx"));
    let data = &removed.json()["data"];
    assert_eq!((&data["removedDelivery"], &data["removedEvent"]), (&json!(delivered.id()), &json!("tx")));
    assert_eq!((&data["hash"], &data["blockHash"]), (&json!(hash.to_string()), &delivered.json()["data"]["blockHash"]));
    assert_eq!(again.json()["data"]["hash"], hash.to_string());
    assert_ne!(again.json()["data"]["blockHash"], delivered.json()["data"]["blockHash"]);
    let ids: BTreeSet<&str> = all.iter().map(|message| message.id()).collect();
    assert_eq!(ids.len(), 3, "an id for each");
    let others = receiver.wait_for("/not", 2).await;
    assert_ne!(others[0].id(), others[1].id());

    // Not included again.
    node.chain.reorg(4, 5, Drop).unwrap();
    node.wait_for(&explorer).await;
    let all = receiver.wait_for("/asked", 4).await;
    assert_eq!(all[3].json()["data"]["removedDelivery"], again.id());
    receiver.expect_silence(&explorer, "/asked", 4).await;
    receiver.expect_silence(&explorer, "/not", 2).await;
}

#[tokio::test]
async fn queued_messages_of_an_orphaned_block_are_never_delivered_even_after_a_restart() {
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).start().await;
    mine(&node, 5);
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    receiver.set_behavior("/hook", Behavior::StatusWithHeader(500, "retry-after", "10".to_owned()));
    let bob = lower_hex(node.account(1));
    let hook = register(&explorer, &receiver.url("/hook"), &bob, &["tx", "removed"]).await;
    node.chain.send(0, TxKind::Call(node.account(1)), U256::from(1), []).unwrap();
    node.chain.mine(None);
    let attempted = receiver.wait_for("/hook", 1).await[0].at;
    eventually("the failure", async || (hook.deliveries(&explorer).await.first()?["attemptCount"] == 1).then_some(()))
        .await;
    // The reorg happens while the explorer is down.
    let data = explorer.kill();
    node.chain.reorg(2, 3, Drop).unwrap();
    let explorer = launch(&node.url()).on(&data).start().await;
    node.wait_for(&explorer).await;
    eventually("the cancellation", async || {
        (hook.deliveries(&explorer).await[0]["status"] == "cancelled").then_some(())
    })
    .await;
    receiver.set_behavior("/hook", Behavior::Status(200));
    // Until the retry would be due.
    tokio::time::sleep_until((attempted + std::time::Duration::from_millis(11_500)).into()).await;
    assert_eq!(receiver.count(), 1);
    let deliveries = hook.deliveries(&explorer).await;
    assert_eq!(deliveries.len(), 1, "{deliveries:?}");
}

/// The receiver has the message; whether it processed it is unknown.
#[tokio::test]
async fn a_message_without_a_response_is_removed_after_a_reorg() {
    for crash in [true, false] {
        let node = DevNode::start().await;
        let explorer = launch(&node.url()).start().await;
        mine(&node, 5);
        node.wait_for(&explorer).await;
        let receiver = Receiver::start().await;
        receiver.set_behavior("/hook", Behavior::Hang);
        let bob = lower_hex(node.account(1));
        let hook = register(&explorer, &receiver.url("/hook"), &bob, &["tx", "removed"]).await;
        node.chain.send(0, TxKind::Call(node.account(1)), U256::from(1), []).unwrap();
        node.chain.mine(None);
        let sent = receiver.wait_for("/hook", 1).await.remove(0);
        let explorer = if crash {
            let data = explorer.kill();
            node.chain.reorg(2, 3, Drop).unwrap();
            receiver.set_behavior("/hook", Behavior::Status(200));
            launch(&node.url()).on(&data).start().await
        } else {
            eventually("the timeout", async || {
                (hook.deliveries(&explorer).await.first()?["attemptCount"] == 1).then_some(())
            })
            .await;
            node.chain.reorg(2, 3, Drop).unwrap();
            receiver.set_behavior("/hook", Behavior::Status(200));
            explorer
        };
        node.wait_for(&explorer).await;
        let removed = eventually("the removal", async || {
            let messages = receiver.at_path("/hook");
            messages.into_iter().find(|message| message.header("x-explorer-event") == "removed")
        })
        .await;
        assert_eq!(removed.json()["data"]["removedDelivery"], sent.id(), "crash: {crash}");
    }
}

#[tokio::test]
async fn after_many_reorgs_canonical_events_are_delivered_and_orphaned_ones_removed() {
    let node = DevNode::start().await;
    let explorer = launch(&node.ws_url()).start().await;
    mine(&node, 10);
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let bob = node.account(1);
    register(&explorer, &receiver.url("/hook"), &lower_hex(bob), &["tx", "removed"]).await;
    let first = node.chain.head().number + 1;
    for round in 0..30_u64 {
        node.chain.send(0, TxKind::Call(bob), U256::from(round + 1), []).unwrap();
        node.chain.mine(None);
        if round % 3 == 2 {
            let depth = (1 + round % 5).min(node.chain.head().number - first + 1);
            node.chain.reorg(depth, depth + 1, if round % 2 == 0 { Replay } else { Drop }).unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(round % 4 * 15)).await;
    }
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    let list = explorer.json(&format!("/api/v1/transactions?address={}&limit=100", lower_hex(bob))).await;
    let canonical: BTreeSet<(String, String)> = list["transactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|transaction| {
            let field = |name: &str| transaction[name].as_str().unwrap().to_owned();
            (field("hash"), field("blockHash"))
        })
        .collect();
    eventually("the last word", async || {
        let messages: Vec<_> =
            receiver.all().into_iter().map(|message| (message.id().to_owned(), message.json())).collect();
        let removed: BTreeSet<&str> =
            messages.iter().filter_map(|(_, delivered)| delivered["data"]["removedDelivery"].as_str()).collect();
        let delivered_and_not_removed: BTreeSet<(String, String)> = messages
            .iter()
            .filter(|(id, delivered)| delivered["event"] == "tx" && !removed.contains(id.as_str()))
            .map(|(_, delivered)| {
                let field = |name: &str| delivered["data"][name].as_str().unwrap().to_owned();
                (field("hash"), field("blockHash"))
            })
            .collect();
        (delivered_and_not_removed == canonical).then_some(())
    })
    .await;
    let mut ids: Vec<String> = receiver.all().iter().map(|message| message.id().to_owned()).collect();
    ids.sort();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "no event is sent twice");
}
