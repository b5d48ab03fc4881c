//! Limits per owner, and reports of dropped messages.

use alloy_primitives::{TxKind, U256};
use serde_json::{Value, json};

use crate::{
    support::{
        DevNode, TestExplorer,
        client::Answer,
        eventually,
        fixture::lower_hex,
        receiver::{Behavior, Receiver},
    },
    webhooks::{launch, register, send},
};

/// Of one webhook.
const BOUND: usize = 40;
const PAYMENTS: usize = 100;

#[tokio::test]
async fn a_full_queue_drops_the_oldest_messages_and_the_next_delivery_reports_how_many() {
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).argument("--webhook-pending", 10 * BOUND).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    receiver.set_behavior("/hook", Behavior::Status(500));
    let bob = node.account(1);
    let hook = register(&explorer, &receiver.url("/hook"), &lower_hex(bob), &["tx"]).await;
    for number in 1..=PAYMENTS {
        node.chain.send(0, TxKind::Call(bob), U256::from(number), []).unwrap();
        if number % 10 == 0 {
            node.chain.mine(None);
        }
    }
    let listed = eventually("the drops", async || {
        let listed = hook.listed(&explorer, &lower_hex(bob)).await;
        (listed["droppedCount"] == PAYMENTS - BOUND).then_some(listed)
    })
    .await;
    assert_eq!(listed["pendingCount"], BOUND, "{listed}");
    assert_eq!(hook.deliveries(&explorer).await.len(), BOUND);
    let health = explorer.json("/health").await;
    assert_eq!(
        (&health["webhooks"]["pending"], &health["webhooks"]["dropped"]),
        (&json!(BOUND), &json!(PAYMENTS - BOUND))
    );

    let before = receiver.count();
    receiver.set_behavior("/hook", Behavior::Status(200));
    // Enabling the webhook resets its backoff.
    hook.patch(&explorer, json!({ "active": true })).await;
    let delivered = eventually("the rest", async || {
        let delivered = receiver.after(before);
        (delivered.len() >= BOUND).then_some(delivered)
    })
    .await;
    let mut values: Vec<usize> =
        delivered.iter().map(|message| message.json()["data"]["value"].as_str().unwrap().parse().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, (PAYMENTS - BOUND + 1..=PAYMENTS).collect::<Vec<_>>(), "the newest are kept");
    assert_eq!(delivered[0].header("x-explorer-dropped"), (PAYMENTS - BOUND).to_string());
    assert!(
        !delivered[BOUND - 1].headers.contains_key("x-explorer-dropped"),
        "reported only until a delivery succeeds"
    );
    eventually("an empty queue", async || {
        let listed = hook.listed(&explorer, &lower_hex(bob)).await;
        (listed["pendingCount"] == 0 && listed["droppedCount"] == PAYMENTS - BOUND).then_some(())
    })
    .await;
}

async fn try_to_register(explorer: &TestExplorer, owner: usize, watched: usize) -> Answer {
    let (owner, watched) = (format!("0x{owner:040x}"), format!("0x{watched:040x}"));
    let body = json!({ "ownerAddress": owner, "url": "http://127.0.0.1:9/", "watchAddress": watched });
    send(explorer.client(), "POST", "/api/v1/webhooks", Some(body)).await
}

#[tokio::test]
async fn the_number_of_webhooks_is_limited_by_address_and_in_total() {
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).argument("--webhook-limit", 20).start().await;
    // A tenth of the limit may watch one address.
    for owner in 1..=2 {
        assert_eq!(try_to_register(&explorer, owner, 1).await.status, 201);
    }
    let beyond = try_to_register(&explorer, 3, 1).await;
    assert_eq!((beyond.status, &beyond.json["code"]), (409, &json!("watched_address_full")), "{}", beyond.json);
    let last = try_to_register(&explorer, 3, 2).await;
    for watched in 3..20 {
        assert_eq!(try_to_register(&explorer, 4, watched).await.status, 201);
    }
    let beyond = try_to_register(&explorer, 5, 20).await;
    assert_eq!((beyond.status, &beyond.json["code"]), (503, &json!("webhooks_full")), "{}", beyond.json);
    assert!(!beyond.header("retry-after").is_empty());
    let health = explorer.json("/health").await;
    assert_eq!(health["webhooks"]["count"], 20);
    // Deleting one frees its slot.
    let path = format!("/api/v1/webhooks/{}", last.json["id"]);
    send(explorer.client(), "DELETE", &path, None).await.ok();
    assert_eq!(try_to_register(&explorer, 5, 20).await.status, 201);
    assert_eq!(explorer.json("/health").await["webhooks"]["dropped"], Value::from(0));
}
