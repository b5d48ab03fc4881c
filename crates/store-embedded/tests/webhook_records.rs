//! Webhooks: the suite of the `store` crate on the embedded store, and what a restart leaves of them.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;

use domain::{
    Address, Attempt, AttemptEffect, AttemptOutcome, AttemptReport, Bytes, DeliveryId, EventKind, EventKinds,
    NewWebhook, NextStep, SealedSecret, WebhookId,
};
use store::conformance::{RandomChain, run_webhook_limits, run_webhook_records};
use store::{ChainWriter, MatchedBlock, Matches, NewEvent, Part, Recipient, Undo, WebhookLimits, WebhookRecords};
use store_embedded::{EmbeddedStore, StoreOptions};

fn new_webhook(owner: u8) -> NewWebhook {
    NewWebhook {
        owner: Address::repeat_byte(owner),
        url: "https://receiver.example/".to_owned(),
        watched: Address::repeat_byte(9),
        events: EventKinds::default().with(EventKind::Tx),
        secret: SealedSecret::new(vec![1]),
        created_at: 5,
    }
}

fn message(webhook: WebhookId, number: u64) -> NewEvent {
    event(number, &[webhook])
}

fn event(number: u64, webhooks: &[WebhookId]) -> NewEvent {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    let id = DeliveryId::new(id);
    let recipients = webhooks.iter().map(|webhook| Recipient { webhook: *webhook, id }).collect();
    // About as long as what is sent of a transaction, and as little alike.
    let body = format!(r#"{{"number":{number},"data":"{}"}}"#, format!("{:064x}", number * 0x9e37_79b9_7f4a).repeat(5));
    NewEvent { kind: EventKind::Ping, place: None, body: Bytes::from(body.into_bytes()), recipients }
}

async fn matches(records: &dyn WebhookRecords, number: u64, events: Vec<NewEvent>) -> Matches {
    let version = records.watch_list().await.unwrap().version;
    let block = domain::BlockRef { number, hash: domain::B256::with_last_byte(7) };
    let from = records.find_cursor().await.unwrap();
    Matches { version, from, blocks: vec![MatchedBlock { block, known_to: 0 }], events, part: Part::Last }
}

fn done(webhook: WebhookId, number: u64) -> AttemptReport {
    let outcome = AttemptOutcome::Answered { status: 200, body: String::new() };
    let attempt = Attempt { at: 1, millis: 1, outcome };
    AttemptReport { webhook, number, attempt, effect: AttemptEffect::Succeeded, next: NextStep::Done, dropped: 0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_records_stand_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    run_webhook_records(Arc::new(store.webhook_records())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_records_keep_their_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let limits =
        WebhookLimits { webhooks: 30, per_address: 12, pending_per_webhook: 20, pending_per_owner: 50, pending: 110 };
    run_webhook_limits(Arc::new(store.webhook_records().with_limits(limits)), limits).await;
}

#[tokio::test]
async fn what_two_hundred_webhooks_are_told_is_kept_once() {
    const HOOKS: u64 = 200;
    const EVENTS: u64 = 500;
    let bytes = async |hooks: u64| {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let records = store.webhook_records();
        let mut ids = Vec::new();
        for number in 0..hooks {
            let owner = u8::try_from(number / 20).unwrap();
            ids.push(records.add_webhook(new_webhook(owner)).await.unwrap().id);
        }
        let events = (1..=EVENTS).map(|number| event(number, &ids)).collect();
        records.enqueue_matches(matches(&records, 1, events).await, 1).await.unwrap();
        let kept = store.compacted_bytes().unwrap();
        // All of it goes with those who were told, at the latest after a week.
        while records.forget_deliveries(2, 10_000).await.unwrap() > 0 {}
        assert_eq!(records.totals().pending, 0);
        (kept, store.compacted_bytes().unwrap())
    };
    let ((one, _), (all, left)) = (bytes(1).await, bytes(HOOKS).await);
    // A message for one more webhook is some tens of bytes: its body, some hundreds, is there already.
    let each = (all - one) / (HOOKS - 1) / EVENTS;
    assert!(each < 64, "{each} bytes for each message to each further webhook");
    assert!(left < one, "{left} bytes are left of {all}");
}

#[tokio::test]
async fn a_webhook_hears_of_what_comes_after_the_tip_of_its_making() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let (mut writer, records, mut chain) = (store.writer(), store.webhook_records(), RandomChain::new(3));
    assert_eq!(records.add_webhook(new_webhook(1)).await.unwrap().after, None);
    let genesis = chain.next_block(None);
    let tip = genesis.block.id();
    writer.commit(vec![genesis], Undo::Keep { down_to: 0 }).await.unwrap();
    assert_eq!(records.add_webhook(new_webhook(1)).await.unwrap().after, Some(tip));
}

#[tokio::test]
async fn queues_outlast_a_restart_and_leases_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let hook = {
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let records = store.webhook_records();
        let hook = records.add_webhook(new_webhook(1)).await.unwrap().id;
        let events = (1..=3).map(|number| message(hook, number)).collect();
        records.enqueue_matches(matches(&records, 7, events).await, 10).await.unwrap();
        assert_eq!(records.claim(hook, 2, 10, 1_000_000).await.unwrap().len(), 2);
        records.record_attempts(vec![done(hook, 1)]).await.unwrap();
        hook
    };
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let records = store.webhook_records();
    assert_eq!(records.find_cursor().await.unwrap().map(|cursor| cursor.number), Some(7));
    let left = records.claim(hook, 9, 11, 1_000_000).await.unwrap();
    // The second was under way when the process ended: who sent it is gone, so it is given out again at once.
    assert_eq!(left.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [2, 3]);
}

#[tokio::test]
async fn a_long_queue_costs_its_neighbours_nothing_and_drains_at_an_even_pace() {
    const LONG: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let records = store.webhook_records();
    let long = records.add_webhook(new_webhook(1)).await.unwrap().id;
    let short = records.add_webhook(new_webhook(2)).await.unwrap().id;
    let mut events: Vec<_> = (1..=LONG).map(|number| message(long, number)).collect();
    events.push(message(short, 1));
    records.enqueue_matches(matches(&records, 1, events).await, 1).await.unwrap();

    let begun = Instant::now();
    assert_eq!(records.claim(short, 4, 2, 9).await.unwrap().len(), 1);
    let first = begun.elapsed();
    assert!(first.as_millis() < 250, "a claim beside a long queue took {first:?}");

    let mut slowest = std::time::Duration::ZERO;
    for start in (1..=LONG).step_by(500) {
        let begun = Instant::now();
        let claimed = records.claim(long, 500, 2, 9).await.unwrap();
        slowest = slowest.max(begun.elapsed());
        assert_eq!(claimed.first().map(|claimed| claimed.number), Some(start));
        let reports = claimed.iter().map(|claimed| done(long, claimed.number)).collect();
        records.record_attempts(reports).await.unwrap();
    }
    assert_eq!(records.find_due(long).await.unwrap(), None);
    assert!(slowest.as_millis() < 1_000, "a claim of 500 took {slowest:?}");
}
