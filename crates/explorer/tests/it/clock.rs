//! The clock of the machine is set while the explorer runs.

use std::{fs, path::Path};

use alloy_primitives::{TxKind, U256};

use crate::{
    support::{
        DevNode, eventually,
        fixture::lower_hex,
        key_request::{KeyRequest, now},
        receiver::{Behavior, Receiver},
        wrong_clock::with_clock,
    },
    webhooks::{self, register},
};

const HOURS: i64 = 2;

/// Sets the clock of the processes that read this file.
fn set_clock(file: &Path, hours: i64) {
    // In one step: it is read all the time.
    let new = file.with_extension("new");
    fs::write(&new, format!("{:+}", hours * 3_600)).unwrap();
    fs::rename(new, file).unwrap();
}

#[tokio::test]
async fn a_clock_set_forward_and_back_stops_neither_indexing_nor_limits_nor_webhooks() {
    let (node, receiver) = (DevNode::start().await, Receiver::start().await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("clock");
    set_clock(&file, 0);
    let launch = webhooks::launch(&node.url()).argument("--trusted-proxy", "127.0.0.0/8");
    let launch = launch.variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 9_999).variable("FAKETIME_NO_CACHE", 1);
    let explorer = with_clock(launch, "FAKETIME_TIMESTAMP_FILE", file.display()).start().await;
    let (client, signer) = (explorer.client(), &node.chain.accounts()[0]);
    let hook = register(&explorer, &receiver.url("/hook"), &lower_hex(node.account(1)), &["tx"]).await;
    let remaining = async |paid: usize| {
        let request = client.request("GET", "/api/v1/stats").header("X-Forwarded-For", format!("192.0.2.{paid}"));
        client.send(request).await.header("x-ratelimit-remaining").to_owned()
    };
    let mut paid = 0;
    for hours in [0, HOURS, -HOURS, 0] {
        assert_eq!(remaining(paid).await, "9998");
        set_clock(&file, hours);
        assert_eq!(remaining(paid).await, "9997", "{hours} h: a window of the limits is neither shorter nor longer");
        let shown = i64::try_from(now()).unwrap() + hours * 3_600_000;
        // By the new clock a signature is in time, and by the old one it is not.
        let at = |millis: i64| KeyRequest::at(signer, u64::try_from(millis).unwrap());
        let created = at(shown).send(client).await;
        assert_eq!(created.status, 201, "{hours} h: {}", created.json);
        assert_eq!(at(shown + 3_600_000).send(client).await.json["code"], "proof_not_yet_valid", "{hours} h");

        paid += 1;
        node.chain.send(0, TxKind::Call(node.account(1)), U256::from(paid), []).unwrap();
        node.chain.mine(None);
        node.wait_for(&explorer).await;
        let message = receiver.wait_for("/hook", paid).await.pop().unwrap();
        let signed_at: i64 = message.header("webhook-timestamp").parse().unwrap();
        assert!((signed_at - shown / 1_000).abs() < 300, "{hours} h: {signed_at}");
    }
    // A retry that is due in five seconds is due at once when the clock is set forward.
    receiver.set_behavior("/hook", Behavior::Status(500));
    hook.ping(&explorer).await;
    receiver.wait_for("/hook", paid + 1).await;
    eventually("the failure is recorded", async || {
        (hook.deliveries(&explorer).await[0]["attempts"][0]["statusCode"] == 500).then_some(())
    })
    .await;
    receiver.set_behavior("/hook", Behavior::Status(200));
    set_clock(&file, HOURS);
    receiver.wait_for("/hook", paid + 2).await;
    eventually("nothing is pending", async || {
        (explorer.json("/health").await["webhooks"]["pending"] == 0).then_some(())
    })
    .await;
    assert_eq!(explorer.json("/health").await["status"], "ok");
}
