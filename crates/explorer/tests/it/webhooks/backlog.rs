//! A receiver that is down for long has a long queue, which does not delay others.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use alloy_primitives::{TxKind, U256};
use domain::{Bytes, DeliveryId, EventKind};
use store::{MatchedBlock, Matches, NewEvent, Part, Recipient, WebhookLimits, WebhookRecords};
use store_embedded::{EmbeddedStore, StoreOptions};

use super::{launch, register};
use crate::support::{
    DevNode, Port, Stopwatch, eventually, explorer::DataFolder, fixture::lower_hex, permits, receiver::Receiver,
};

const QUEUED: u64 = 100_000;

/// Queues many messages for a webhook, as many blocks would.
async fn fill(data: &std::path::Path, webhook: u64) {
    let store = EmbeddedStore::open(data, StoreOptions::default()).unwrap();
    let limits = WebhookLimits { pending_per_webhook: QUEUED, ..WebhookLimits::default() };
    let records = store.webhook_records().with_limits(limits);
    let now = crate::support::key_request::now();
    for start in (0..QUEUED).step_by(10_000) {
        let events = (start..start + 10_000).map(|number| {
            let mut id = [0; 16];
            id[8..].copy_from_slice(&number.to_be_bytes());
            let body = Bytes::from(format!(r#"{{"event":"tx","number":{number}}}"#).into_bytes());
            let recipients = vec![Recipient { webhook, id: DeliveryId::new(id) }];
            NewEvent { kind: EventKind::Tx, location: None, body, recipients }
        });
        let cursor = records.find_cursor().await.unwrap();
        let matches = Matches {
            version: records.watch_list().await.unwrap().version,
            from: cursor,
            blocks: cursor.into_iter().map(|block| MatchedBlock { block, known_to: webhook }).collect(),
            events: events.collect(),
            part: Part::Last,
            skips_internal: true,
        };
        records.enqueue_matches(matches, now).await.unwrap();
    }
    store.sync().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_messages_queued_for_a_dead_receiver_delay_no_others() {
    permits::alone();
    let node = DevNode::start().await;
    let start = async |data: Option<DataFolder>| {
        let launch = launch(&node.url()).argument("--webhook-pending", 10 * QUEUED);
        match data {
            Some(data) => launch.on(&data).start().await,
            None => launch.start().await,
        }
    };
    let explorer = start(None).await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    // Nothing listens there yet.
    let port = Port::reserve();
    let dead = port.address();
    let (bob, carol) = (node.account(1), node.account(2));
    let hook = register(&explorer, &format!("http://{dead}/hook"), &lower_hex(carol), &["tx"]).await;
    register(&explorer, &receiver.url("/bob"), &lower_hex(bob), &["tx"]).await;
    // One delivery first, so that the endpoint counts as healthy.
    let started = Instant::now();
    node.chain.send(0, TxKind::Call(bob), U256::from(1), []).unwrap();
    node.chain.mine(None);
    let usual = receiver.wait_for("/bob", 1).await[0].at.saturating_duration_since(started);
    let (_, data) = explorer.stop().await;
    let path = data.path().to_owned();
    fill(&path, hook.id).await;

    let explorer = start(Some(data)).await;
    node.wait_for(&explorer).await;
    for round in 2..12 {
        let watch = Stopwatch::start();
        node.chain.send(0, TxKind::Call(bob), U256::from(1), []).unwrap();
        node.chain.mine(None);
        receiver.wait_for("/bob", round).await;
        let took = watch.elapsed();
        // The delay is that of polling for new blocks, and little more.
        assert!(took < Duration::from_secs(3) + 3 * usual, "{took:?} beside a long queue, {usual:?} without");
    }
    let listed = hook.listed(&explorer, &lower_hex(carol)).await;
    assert!((1..60).contains(&listed["failCount"].as_u64().unwrap()), "a probe now and then: {listed}");

    // Kill and restart the explorer, and start the receiver.
    let data = explorer.kill();
    let explorer = start(Some(data)).await;
    let restarted = Receiver::on(port.listen());
    let started = Instant::now();
    let mut last = (0, Stopwatch::start());
    while restarted.count() < usize::try_from(QUEUED).unwrap() {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if restarted.count() > last.0 {
            last = (restarted.count(), Stopwatch::start());
        }
        last.1.assert_within(60);
    }
    println!("{QUEUED} messages are delivered after {:?}", started.elapsed());
    let ids: BTreeSet<String> = restarted.all().iter().map(|message| message.id().to_owned()).collect();
    assert_eq!(ids.len(), usize::try_from(QUEUED).unwrap(), "each of them");
    eventually("the end of the failures", async || {
        (hook.listed(&explorer, &lower_hex(carol)).await["failCount"] == 0).then_some(())
    })
    .await;
}
