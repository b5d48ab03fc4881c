//! An event keeps its id, however often its block is orphaned and becomes canonical again.

use std::collections::BTreeSet;

use alloy_primitives::{TxKind, U256};
use devchain::DevChain;
use serde_json::Value;

use super::branches::ForkedNode;
use crate::{
    support::{
        TestExplorer, eventually,
        fixture::lower_hex,
        receiver::{Behavior, Received, Receiver},
    },
    webhooks::{Hook, launch, register},
};

fn pay(chain: &DevChain) -> String {
    let bob = chain.accounts()[1].address();
    let hash = chain.send(0, TxKind::Call(bob), U256::from(1), []).unwrap();
    chain.mine(None);
    hash.to_string()
}

async fn wait_until_delivered(explorer: &TestExplorer, hook: &Hook, count: usize) {
    eventually("the successes", async || {
        let deliveries = hook.deliveries(explorer).await;
        let delivered = deliveries.iter().filter(|delivery| delivery["status"] == "delivered").count();
        (delivered >= count).then_some(())
    })
    .await;
}

fn of_kind<'a>(messages: &'a [Received], kind: &str) -> Vec<&'a Received> {
    messages.iter().filter(|message| message.header("x-explorer-event") == kind).collect()
}

fn ids(messages: &[&Received]) -> BTreeSet<String> {
    messages.iter().map(|message| message.id().to_owned()).collect()
}

#[tokio::test]
async fn an_event_keeps_its_id_when_the_same_block_becomes_canonical_again() {
    let node = ForkedNode::start().await;
    let explorer = launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let bob = lower_hex(node.first.accounts()[1].address());
    let plain_hook = register(&explorer, &receiver.url("/plain"), &bob, &["tx"]).await;
    let asking = register(&explorer, &receiver.url("/asking"), &bob, &["tx", "removed"]).await;
    pay(&node.first);
    for hook in [&plain_hook, &asking] {
        wait_until_delivered(&explorer, hook, 1).await;
    }

    node.switch_to_second();
    node.wait_for(&explorer).await;
    wait_until_delivered(&explorer, &asking, 2).await;
    node.switch_back();
    node.wait_for(&explorer).await;
    wait_until_delivered(&explorer, &asking, 3).await;
    receiver.expect_silence(&explorer, "/asking", 3).await;

    // Subscribers to removals get the same event again, marked as a repetition.
    let all = receiver.at_path("/asking");
    let (delivered, removed) = (of_kind(&all, "tx"), of_kind(&all, "removed"));
    assert_eq!((delivered.len(), removed.len()), (2, 1), "{all:?}");
    assert_eq!(ids(&delivered).len(), 1, "the same transaction in the same block is the same event: {delivered:?}");
    assert_eq!(delivered[0].header("webhook-id"), delivered[1].header("webhook-id"));
    assert_eq!(delivered[0].json()["data"], delivered[1].json()["data"]);
    let inclusions: Vec<Value> = delivered.iter().map(|message| message.json()["inclusion"].clone()).collect();
    assert_eq!(inclusions, [Value::Null, Value::from(2)]);
    assert_eq!(removed[0].json()["data"]["removedDelivery"], delivered[0].id());

    // Other subscribers already have the event, which was never removed for them.
    receiver.expect_silence(&explorer, "/plain", 1).await;

    // Orphaned once more: the removal has the same id as before.
    node.switch_to_second();
    node.wait_for(&explorer).await;
    wait_until_delivered(&explorer, &asking, 4).await;
    let all = receiver.at_path("/asking");
    let removed = of_kind(&all, "removed");
    assert_eq!((removed.len(), ids(&removed).len()), (2, 1), "{removed:?}");
    assert_eq!(removed[1].json()["inclusion"], 2);
}

#[tokio::test]
async fn a_cancelled_message_is_sent_with_the_same_id_when_its_block_becomes_canonical_again() {
    let node = ForkedNode::start().await;
    let explorer = launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    receiver.set_behavior("/hook", Behavior::Status(500));
    let bob = lower_hex(node.first.accounts()[1].address());
    let hook = register(&explorer, &receiver.url("/hook"), &bob, &["tx"]).await;
    pay(&node.first);
    eventually("the failure", async || (hook.deliveries(&explorer).await.first()?["attemptCount"] == 1).then_some(()))
        .await;
    node.switch_to_second();
    eventually("the cancellation", async || {
        (hook.deliveries(&explorer).await[0]["status"] == "cancelled").then_some(())
    })
    .await;
    receiver.set_behavior("/hook", Behavior::Status(200));
    node.switch_back();
    wait_until_delivered(&explorer, &hook, 1).await;
    let all = receiver.at_path("/hook");
    assert_eq!(ids(&all.iter().collect::<Vec<_>>()).len(), 1, "{all:?}");
    assert_eq!(all.last().unwrap().json()["inclusion"], 2);
}

#[tokio::test]
async fn blocks_older_than_the_webhook_send_nothing_when_they_become_canonical_again() {
    let node = ForkedNode::start().await;
    let explorer = launch(&node.url()).start().await;
    let before = pay(&node.first);
    node.first.mine(None);
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let bob = lower_hex(node.first.accounts()[1].address());
    let hook = register(&explorer, &receiver.url("/hook"), &bob, &["tx"]).await;
    // The cursor moves to before the block at which the webhook was created.
    node.switch_to_second();
    node.wait_for(&explorer).await;
    node.switch_back();
    let after = pay(&node.first);
    node.wait_for(&explorer).await;
    wait_until_delivered(&explorer, &hook, 1).await;
    receiver.expect_silence(&explorer, "/hook", 1).await;
    let delivered: Vec<Value> = receiver.all().iter().map(|message| message.json()["data"]["hash"].clone()).collect();
    assert_eq!(delivered, [after], "not {before}, which is older than the webhook");

    // Events of another branch are new, whatever the block number.
    let other = ForkedNode::start().await;
    let explorer = launch(&other.url()).start().await;
    other.first.mine(None);
    other.wait_for(&explorer).await;
    let hook = register(&explorer, &receiver.url("/new"), &bob, &["tx"]).await;
    let new = pay(&other.second);
    other.switch_to_second();
    wait_until_delivered(&explorer, &hook, 1).await;
    assert_eq!(receiver.at_path("/new")[0].json()["data"]["hash"], new);
}
