//! `Retry-After` of a receiver does not use up the attempts early.

use alloy_primitives::{TxKind, U256};
use serde_json::{Value, json};

use crate::{
    support::{
        DevNode, eventually,
        fixture::lower_hex,
        receiver::{Behavior, Receiver},
    },
    webhooks::{launch, register},
};

/// Milliseconds since midnight: enough for differences of seconds, except at midnight.
fn millis(time: &Value) -> i64 {
    let text = time.as_str().unwrap_or_else(|| panic!("no time: {time}"));
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    ((number(11..13) * 60 + number(14..16)) * 60 + number(17..19)) * 1_000 + number(20..23)
}

#[tokio::test]
async fn a_short_retry_after_does_not_shorten_the_backoff_and_a_long_one_is_honored() {
    let node = DevNode::start().await;
    let explorer = launch(&node.url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let bob = node.account(1);
    let mut hooks = Vec::new();
    for (path, asked) in [("/short", "1"), ("/long", "3600")] {
        receiver.set_behavior(path, Behavior::StatusWithHeader(503, "retry-after", asked.to_owned()));
        hooks.push(register(&explorer, &receiver.url(path), &lower_hex(bob), &["tx"]).await);
    }
    node.chain.send(0, TxKind::Call(bob), U256::from(1), []).unwrap();
    node.chain.mine(None);
    // The backoff is 5 s after the first attempt and 30 s after the second, with a jitter of 20 %.
    for (hook, attempts, shortest) in [(&hooks[0], 1, 3_900), (&hooks[1], 1, 3_590_000), (&hooks[0], 2, 23_900)] {
        let delivery = eventually("the failure", async || {
            let deliveries = hook.deliveries(&explorer).await;
            let first = deliveries.first()?;
            (first["attemptCount"].as_u64()? >= attempts).then(|| first.clone())
        })
        .await;
        assert_eq!((&delivery["status"], &delivery["attemptCount"]), (&json!("pending"), &json!(attempts)));
        let wait = millis(&delivery["nextAttemptAt"]) - millis(&delivery["attempts"][0]["at"]);
        let wait = wait.rem_euclid(24 * 60 * 60 * 1_000);
        assert!(wait >= shortest, "only {wait} ms after attempt {attempts}: {delivery}");
    }
}
