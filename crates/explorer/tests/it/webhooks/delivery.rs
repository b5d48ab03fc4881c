//! Delivery: retries, failures, pings, redeliveries and secrets.

use std::time::Duration;

use alloy_primitives::{TxKind, U256};
use serde_json::{Value, json};

use super::{Hook, launch, register, send};
use crate::support::{
    DevNode, Stopwatch, TestExplorer, assert_prompt_stop, eventually,
    fixture::lower_hex,
    permits,
    receiver::{Behavior, Received, Receiver},
};

struct DeliveryFixture {
    node: DevNode,
    explorer: TestExplorer,
    receiver: Receiver,
}

impl DeliveryFixture {
    async fn start() -> Self {
        let node = DevNode::start().await;
        let explorer = launch(&node.url()).start().await;
        node.wait_for(&explorer).await;
        Self { node, explorer, receiver: Receiver::start().await }
    }

    fn bob(&self) -> String {
        lower_hex(self.node.account(1))
    }

    async fn hook(&self, path: &str) -> Hook {
        register(&self.explorer, &self.receiver.url(path), &self.bob(), &["tx"]).await
    }

    fn pay(&self) {
        let bob = self.node.account(1);
        self.node.chain.send(0, TxKind::Call(bob), U256::from(1), []).unwrap();
        self.node.chain.mine(None);
    }
}

fn same_message(one: &Received, other: &Received) {
    assert_eq!((one.id(), &one.body), (other.id(), &other.body));
    assert_eq!(one.header("x-explorer-signature"), other.header("x-explorer-signature"));
}

#[tokio::test]
async fn a_retry_has_the_same_id_and_the_same_bytes() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/hook").await;
    fixture.receiver.set_behavior("/hook", Behavior::StatusWithHeader(503, "retry-after", "1".to_owned()));
    fixture.pay();
    let first = fixture.receiver.wait_for("/hook", 1).await.remove(0);
    let failing = eventually("the failure in the log", async || {
        let deliveries = hook.deliveries(&fixture.explorer).await;
        (deliveries.first()?["attemptCount"] == 1).then(|| deliveries[0].clone())
    })
    .await;
    assert_eq!((&failing["status"], &failing["attempts"][0]["statusCode"]), (&json!("pending"), &json!(503)));
    assert!(failing["nextAttemptAt"].is_string());
    assert_eq!(hook.listed(&fixture.explorer, &fixture.bob()).await["failCount"], 1);
    fixture.receiver.set_behavior("/hook", Behavior::Status(200));
    let both = fixture.receiver.wait_for("/hook", 2).await;
    same_message(&both[0], &both[1]);
    assert_eq!((first.header("x-explorer-attempt"), both[1].header("x-explorer-attempt")), ("1", "2"));
    let done = eventually("the success in the log", async || {
        let deliveries = hook.deliveries(&fixture.explorer).await;
        (deliveries.first()?["status"] == "delivered").then(|| deliveries[0].clone())
    })
    .await;
    assert_eq!((&done["id"], &done["event"], &done["attemptCount"]), (&json!(first.id()), &json!("tx"), &json!(2)));
    assert_eq!(done["attempts"][0]["answer"], "thanks");
    assert!(done["attempts"][0]["milliseconds"].is_u64());
    assert_eq!(hook.listed(&fixture.explorer, &fixture.bob()).await["failCount"], 0);
    fixture.receiver.expect_silence(&fixture.explorer, "/hook", 2).await;
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_an_endless_response_is_cut_off() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/here").await;
    fixture.receiver.set_behavior("/here", Behavior::StatusWithHeader(307, "location", fixture.receiver.url("/there")));
    fixture.pay();
    let failed = eventually("the failure", async || {
        let deliveries = hook.deliveries(&fixture.explorer).await;
        (deliveries.first()?["attemptCount"] == 1).then(|| deliveries[0].clone())
    })
    .await;
    assert_eq!(failed["attempts"][0]["statusCode"], 307);
    fixture.receiver.expect_silence(&fixture.explorer, "/there", 0).await;

    let flooded = fixture.hook("/flood").await;
    fixture.receiver.set_behavior("/flood", Behavior::Flood);
    flooded.ping(&fixture.explorer).await;
    let answered = eventually("the end of the flood", async || {
        let deliveries = flooded.deliveries(&fixture.explorer).await;
        (deliveries.first()?["status"] == "delivered").then(|| deliveries[0].clone())
    })
    .await;
    assert_eq!(answered["attempts"][0]["answer"].as_str().unwrap().len(), 1_024);
}

#[tokio::test]
async fn an_oversized_response_header_is_a_failure_and_is_not_read_to_its_end() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/hook").await;
    fixture.receiver.set_behavior("/hook", Behavior::StatusWithHeader(200, "x-long", "x".repeat(200_000)));
    fixture.pay();
    let failed = eventually("the failure", async || {
        let deliveries = hook.deliveries(&fixture.explorer).await;
        (deliveries.first()?["attemptCount"] == 1).then(|| deliveries[0].clone())
    })
    .await;
    let attempt = &failed["attempts"][0];
    assert!(attempt["error"].as_str().unwrap().contains("the connection broke"), "{attempt}");
    assert!(attempt["milliseconds"].as_u64().unwrap() < 5_000, "{attempt}");
}

#[tokio::test]
async fn a_message_in_flight_is_not_sent_concurrently_whatever_its_owner_does() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/hook").await;
    fixture.receiver.set_behavior("/hook", Behavior::Hang);
    hook.ping(&fixture.explorer).await;
    let first = fixture.receiver.wait_for("/hook", 1).await.remove(0);
    fixture.receiver.set_behavior("/hook", Behavior::Status(200));
    // Disable, enable and rotate the secret while the message is in flight.
    hook.patch(&fixture.explorer, json!({ "active": false })).await;
    hook.patch(&fixture.explorer, json!({ "active": true })).await;
    send(fixture.explorer.client(), "POST", &hook.path("/rotate-secret"), None).await.ok();
    let both = fixture.receiver.wait_for("/hook", 2).await;
    assert_eq!((both[1].id(), &both[1].body), (first.id(), &first.body));
    let apart = both[1].at.duration_since(first.at);
    assert!(apart >= Duration::from_secs(10), "the second came {apart:?} after the first, which took ten seconds");
    fixture.receiver.expect_silence(&fixture.explorer, "/hook", 2).await;
}

#[tokio::test]
async fn a_silent_receiver_and_an_endless_body_fail_after_ten_seconds() {
    let fixture = DeliveryFixture::start().await;
    let (silent, dripping) = (fixture.hook("/silent").await, fixture.hook("/drip").await);
    fixture.receiver.set_behavior("/silent", Behavior::Hang);
    fixture.receiver.set_behavior("/drip", Behavior::Drip);
    let watch = Stopwatch::start();
    fixture.pay();
    for hook in [silent, dripping] {
        let failed = eventually("the failure", async || {
            let deliveries = hook.deliveries(&fixture.explorer).await;
            (deliveries.first()?["attemptCount"] == 1).then(|| deliveries[0].clone())
        })
        .await;
        let attempt = &failed["attempts"][0];
        assert!(attempt["error"].as_str().unwrap().contains("10 seconds"), "{attempt}");
        assert!(attempt["milliseconds"].as_u64().unwrap() >= 10_000, "{attempt}");
        watch.assert_within(15);
        assert_eq!((&attempt["statusCode"], &attempt["answer"]), (&Value::Null, &Value::Null));
    }
}

#[tokio::test]
async fn a_410_disables_a_webhook_and_its_queue_waits_until_it_is_enabled() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/hook").await;
    fixture.receiver.set_behavior("/hook", Behavior::Status(410));
    fixture.pay();
    eventually("the end of it", async || {
        (hook.listed(&fixture.explorer, &fixture.bob()).await["active"] == false).then_some(())
    })
    .await;
    let refused = send(fixture.explorer.client(), "POST", &hook.path("/ping"), None).await;
    assert_eq!((refused.status, &refused.json["code"]), (409, &json!("webhook_inactive")));
    // Nothing is queued for a disabled webhook.
    fixture.pay();
    fixture.node.wait_for(&fixture.explorer).await;
    fixture.receiver.set_behavior("/hook", Behavior::Status(200));
    fixture.receiver.expect_silence(&fixture.explorer, "/hook", 1).await;
    assert_eq!(hook.patch(&fixture.explorer, json!({ "active": true })).await["active"], true);
    let both = fixture.receiver.wait_for("/hook", 2).await;
    same_message(&both[0], &both[1]);
    fixture.pay();
    fixture.receiver.wait_for("/hook", 3).await;
    fixture.receiver.expect_silence(&fixture.explorer, "/hook", 3).await;
}

#[tokio::test]
async fn owners_can_ping_redeliver_and_change_the_url() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/one").await;
    let ping = hook.ping(&fixture.explorer).await;
    let first = fixture.receiver.wait_for("/one", 1).await.remove(0);
    assert_eq!((first.id(), first.header("x-explorer-event")), (ping.as_str(), "ping"));
    assert_eq!(first.json()["data"], json!({ "webhookId": hook.id }));
    eventually("the success", async || {
        (hook.deliveries(&fixture.explorer).await[0]["status"] == "delivered").then_some(())
    })
    .await;

    let again =
        send(fixture.explorer.client(), "POST", &hook.path(&format!("/deliveries/{ping}/redeliver")), None).await;
    assert_eq!((again.status, &again.json["deliveryId"]), (202, &json!(ping)));
    let both = fixture.receiver.wait_for("/one", 2).await;
    same_message(&both[0], &both[1]);
    assert_eq!(both[1].header("x-explorer-attempt"), "2");
    let unknown = format!("/deliveries/evt_{}/redeliver", "0".repeat(32));
    let unknown = send(fixture.explorer.client(), "POST", &hook.path(&unknown), None).await;
    assert_eq!((unknown.status, &unknown.json["code"]), (404, &json!("delivery_not_found")));

    let changed = hook.patch(&fixture.explorer, json!({ "url": fixture.receiver.url("/two") })).await;
    assert_eq!(changed["url"], fixture.receiver.url("/two"));
    hook.ping(&fixture.explorer).await;
    fixture.receiver.wait_for("/two", 1).await;
    fixture.receiver.expect_silence(&fixture.explorer, "/one", 2).await;

    // A deleted webhook sends nothing and is unknown.
    let deleted = send(fixture.explorer.client(), "DELETE", &hook.path(""), None).await.ok();
    assert_eq!((&deleted["success"], &deleted["id"]), (&json!(true), &json!(hook.id)));
    fixture.pay();
    fixture.node.wait_for(&fixture.explorer).await;
    fixture.receiver.expect_silence(&fixture.explorer, "/two", 1).await;
    for (method, rest) in [("DELETE", ""), ("POST", "/ping"), ("GET", "/deliveries"), ("POST", "/rotate-secret")] {
        let gone = send(fixture.explorer.client(), method, &hook.path(rest), None).await;
        assert_eq!((gone.status, &gone.json["code"]), (404, &json!("webhook_not_found")), "{method} {rest}");
    }
}

#[tokio::test]
async fn a_rotated_secret_signs_together_with_the_old_one() {
    // Before the message, which libraries accept for five minutes.
    permits::busy().await;
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/hook").await;
    let rotate = async || {
        let rotated = send(fixture.explorer.client(), "POST", &hook.path("/rotate-secret"), None).await.ok();
        assert!(rotated["previousSecretUntil"].is_string());
        Hook { secret: rotated["secret"].as_str().unwrap().to_owned(), ..hook.clone() }
    };
    // Twice in a row: a receiver that has only the first secret can still verify.
    let (second, new) = (rotate().await, rotate().await);
    assert!(new.secret != hook.secret && new.secret != second.secret);
    hook.ping(&fixture.explorer).await;
    let message = fixture.receiver.wait_for("/hook", 1).await.remove(0);
    assert_eq!(message.header("webhook-signature").split(' ').count(), 3);
    let file = tempfile::NamedTempFile::new().unwrap();
    let of = |hook: &Hook| json!({ "secret": hook.secret, "body": message.body, "headers": message.headers });
    std::fs::write(file.path(), json!([of(&new), of(&hook), of(&second)]).to_string()).unwrap();
    let verdicts =
        crate::support::wallet_clients::run_client("verify_webhook.mjs", &[file.path().to_str().unwrap()]).await;
    assert_eq!((&verdicts[0]["octokit"], &verdicts[0]["standard"]), (&json!(true), &json!(true)), "the new one");
    assert_eq!((&verdicts[1]["octokit"], &verdicts[1]["standard"]), (&json!(false), &json!(true)), "the old one");
    assert_eq!((&verdicts[2]["octokit"], &verdicts[2]["standard"]), (&json!(false), &json!(true)), "the one between");
}

#[tokio::test]
async fn secrets_are_encrypted_on_disk_and_need_their_key() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/hook").await;
    let (_, data) = fixture.explorer.stop().await;
    let secret = hook.secret.as_bytes().to_vec();
    let mut folders = vec![data.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let key = &secret[6..30];
            assert!(!bytes.windows(key.len()).any(|part| part == key), "the secret is in {}", path.display());
        }
    }
    let other = launch(&fixture.node.url()).on(&data).variable("EXPLORER_WEBHOOK_ENCRYPTION_KEY", "ab".repeat(32));
    let (status, message) = other.fails_to_start().await;
    assert!(!status.success() && message.contains("sealed with another key"), "{message}");

    let explorer = launch(&fixture.node.url()).on(&data).start().await;
    hook.ping(&explorer).await;
    fixture.receiver.wait_for("/hook", 1).await;
}

#[tokio::test]
async fn a_stop_while_receivers_hang_takes_at_most_two_seconds() {
    let fixture = DeliveryFixture::start().await;
    let hook = fixture.hook("/hook").await;
    fixture.receiver.set_behavior("/hook", Behavior::Hang);
    hook.ping(&fixture.explorer).await;
    fixture.receiver.wait_for("/hook", 1).await;
    let (ended, data) = fixture.explorer.stop().await;
    assert_prompt_stop(&ended);
    // A message in flight at the stop is sent again at once.
    fixture.receiver.set_behavior("/hook", Behavior::Status(200));
    let _explorer = launch(&fixture.node.url()).on(&data).start().await;
    let both = fixture.receiver.wait_for("/hook", 2).await;
    same_message(&both[0], &both[1]);
}
