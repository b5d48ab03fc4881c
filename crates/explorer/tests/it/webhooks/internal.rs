//! Messages about coins that moved inside transactions.

use alloy_primitives::Address;
use devchain::ReorgedTransactions::Replay;
use serde_json::{Value, json};

use super::{Hook, launch, register};
use crate::{
    internal::send_everything,
    support::{
        DevNode, TestExplorer,
        fixture::lower_hex,
        receiver::{Received, Receiver},
    },
};

/// What `send_everything` pays inside transactions, in order. A payment that is reverted, and one of nothing, are none.
const PAYMENTS: [&str; 3] = ["1000", "5", "3"];

/// The values of messages, in the order of the queue. They may arrive in another one: up to four are in flight.
async fn values(hook: &Hook, explorer: &TestExplorer, messages: &[Received]) -> Vec<Value> {
    let queued = hook.deliveries(explorer).await;
    let message = |delivery: &Value| messages.iter().find(|message| delivery["id"] == message.id());
    queued.iter().rev().filter_map(message).map(|message| message.json()["data"]["value"].clone()).collect()
}

#[tokio::test]
async fn coins_moved_inside_transactions_are_sent_and_removed_with_their_block() {
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).start().await;
    for _ in 0..5 {
        node.chain.mine(None);
    }
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let paid = Address::repeat_byte(0x70);
    let hook = register(&explorer, &receiver.url("/internal"), &lower_hex(paid), &["internal", "removed"]).await;
    register(&explorer, &receiver.url("/tx"), &lower_hex(paid), &["tx"]).await;
    assert_eq!(send_everything(&node.chain, 0), paid);
    let messages = receiver.wait_for("/internal", 3).await;
    assert_eq!(values(&hook, &explorer, &messages).await, PAYMENTS);
    let listed = explorer.json(&format!("/api/v1/internal-transactions?address={paid}&limit=100")).await;
    let listed: Vec<Value> = listed["internalTransactions"].as_array().unwrap().clone();
    for message in &messages {
        assert_eq!(message.header("x-explorer-event"), "internal");
        let data = &message.json()["data"];
        let entry = listed.iter().find(|entry| entry["txHash"] == data["hash"] && entry["value"] == data["value"]);
        let entry = entry.unwrap();
        let expected = [&entry["fromAddress"], &entry["toAddress"], &entry["blockNumber"], &entry["position"]];
        assert_eq!([&data["from"], &data["to"], &data["blockNumber"], &data["position"]], expected);
        assert_eq!((&data["type"], &entry["error"]), (&json!("call"), &Value::Null));
    }

    // Every block is replaced, and has the same payments again.
    node.chain.reorg(5, 6, Replay).unwrap();
    node.wait_for(&explorer).await;
    let all = receiver.wait_for("/internal", 9).await;
    let of_kind = |kind: &str| -> Vec<&Received> {
        all[3..].iter().filter(|message| message.header("x-explorer-event") == kind).collect()
    };
    let (removed, again) = (of_kind("removed"), of_kind("internal"));
    let mut ids: Vec<Value> = removed.iter().map(|message| message.json()["data"]["removedDelivery"].clone()).collect();
    ids.sort_by_key(Value::to_string);
    let mut expected: Vec<Value> = messages.iter().map(|message| json!(message.id())).collect();
    expected.sort_by_key(Value::to_string);
    assert_eq!((ids, again.len()), (expected, 3));
    assert!(removed.iter().all(|message| message.json()["data"]["removedEvent"] == "internal"));
    receiver.expect_silence(&explorer, "/internal", 9).await;
    assert!(receiver.at_path("/tx").is_empty(), "no transaction is from or to the address");
}

#[tokio::test]
async fn messages_wait_for_traces_and_a_new_interest_begins_now() {
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).argument("--traces", "off").start().await;
    node.chain.mine(None);
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let [early, late] = [0x70, 0x71].map(Address::repeat_byte);
    let late_hook = register(&explorer, &receiver.url("/late"), &lower_hex(late), &["tx"]).await;
    // Nobody wants to know of these.
    send_everything(&node.chain, 1);
    node.wait_for(&explorer).await;
    let early_hook = register(&explorer, &receiver.url("/early"), &lower_hex(early), &["internal"]).await;
    late_hook.patch(&explorer, json!({ "eventTypes": ["internal"] })).await;
    send_everything(&node.chain, 0);
    node.wait_for(&explorer).await;
    receiver.expect_silence(&explorer, "/early", 0).await;

    let data = explorer.kill();
    let explorer = launch(&node.url()).on(&data).start().await;
    assert_eq!(values(&early_hook, &explorer, &receiver.wait_for("/early", 3).await).await, PAYMENTS);
    send_everything(&node.chain, 1);
    node.wait_for(&explorer).await;
    assert_eq!(values(&late_hook, &explorer, &receiver.wait_for("/late", 3).await).await, ["1001", "5", "3"]);
    receiver.expect_silence(&explorer, "/early", 3).await;
    receiver.expect_silence(&explorer, "/late", 3).await;
}
