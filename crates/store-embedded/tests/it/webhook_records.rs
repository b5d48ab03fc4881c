//! Webhooks: the conformance suite on the embedded store, and restarts.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{
    Address, Attempt, AttemptEffect, AttemptOutcome, AttemptReport, Bytes, DeliveryId, EventKind, EventKinds,
    EventLocation, NewDelivery, NewWebhook, NextStep, WebhookId,
};
use store::{
    ChainWriter, MatchedBlock, Matches, NewEvent, Part, Recipient, Removal, Retraction, Undo, WebhookLimits,
    WebhookRecords,
};
use store_conformance::{RandomChain, run_webhook_limits, run_webhook_records};
use store_embedded::{EmbeddedStore, StoreOptions};

fn new_webhook(owner: u8) -> NewWebhook {
    NewWebhook {
        owner: Address::repeat_byte(owner),
        watched: Address::repeat_byte(9),
        created_at: 5,
        ..NewWebhook::sample()
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
    // About as long as a message about a transaction, and as hard to compress.
    let body = format!(r#"{{"number":{number},"data":"{}"}}"#, format!("{:064x}", number * 0x9e37_79b9_7f4a).repeat(5));
    NewEvent { kind: EventKind::Ping, location: None, body: Bytes::from(body.into_bytes()), recipients }
}

async fn matches(records: &dyn WebhookRecords, number: u64, events: Vec<NewEvent>) -> Matches {
    let version = records.watch_list().await.unwrap().version;
    let block = domain::BlockRef { number, hash: domain::B256::with_last_byte(7) };
    let from = records.find_cursor().await.unwrap();
    Matches {
        version,
        from,
        blocks: vec![MatchedBlock { block, known_to: 0 }],
        events,
        part: Part::Last,
        skips_internal: true,
    }
}

fn done(webhook: WebhookId, number: u64) -> AttemptReport {
    let outcome = AttemptOutcome::Answered { status: 200, body: String::new() };
    let attempt = Attempt { at: 1, millis: 1, outcome };
    AttemptReport { webhook, number, attempt, effect: AttemptEffect::Succeeded, next: NextStep::Done, dropped: 0 }
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_records_pass_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    run_webhook_records(Arc::new(store.webhook_records())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn webhook_records_enforce_their_limits() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let limits =
        WebhookLimits { webhooks: 30, per_address: 12, pending_per_webhook: 20, pending_per_owner: 50, pending: 110 };
    run_webhook_limits(Arc::new(store.webhook_records().with_limits(limits)), limits).await;
}

#[tokio::test]
async fn a_message_to_two_hundred_webhooks_is_stored_once() {
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
        // Everything is deleted with the deliveries.
        while records.forget_deliveries(2, 10_000).await.unwrap() > 0 {}
        assert_eq!(records.totals().pending, 0);
        (kept, store.compacted_bytes().unwrap())
    };
    let ((one, _), (all, left)) = (bytes(1).await, bytes(HOOKS).await);
    // A message for one more webhook takes tens of bytes: its body, hundreds of bytes, is shared.
    let each = (all - one) / (HOOKS - 1) / EVENTS;
    assert!(each < 64, "{each} bytes for each message to each further webhook");
    assert!(left < one, "{left} bytes are left of {all}");
}

#[tokio::test]
async fn a_webhook_receives_events_after_the_tip_at_its_creation() {
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
async fn queues_survive_a_restart_and_leases_do_not() {
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
    // The second was in flight when the process ended: its lease ended too, so it can be claimed again at once.
    assert_eq!(left.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [2, 3]);
}

#[tokio::test]
async fn a_message_that_an_earlier_process_may_have_sent_is_removed_also_after_a_failed_attempt() {
    const LATER: u64 = 1_000_000;
    let folder = tempfile::tempdir().unwrap();
    let open = || EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let block = domain::BlockRef { number: 7, hash: domain::B256::with_last_byte(7) };
    let hook = {
        let records = open().webhook_records();
        let events = EventKinds::default().with(EventKind::Tx).with(EventKind::Removed);
        let hook = records.add_webhook(NewWebhook { events, ..new_webhook(1) }).await.unwrap().id;
        let location = Some(EventLocation { block, tx_hash: domain::B256::ZERO });
        let events = vec![NewEvent { kind: EventKind::Tx, location, ..message(hook, 1) }];
        records.enqueue_matches(matches(&records, 7, events).await, 10).await.unwrap();
        // The process ends before it can report what became of the message.
        assert_eq!(records.claim(hook, 9, 10, LATER).await.unwrap().len(), 1);
        hook
    };
    {
        let records = open().webhook_records();
        assert_eq!(records.claim(hook, 9, 11, LATER).await.unwrap().len(), 1);
        let outcome = AttemptOutcome::Unanswered { reason: "connection refused".to_owned(), sent: false };
        let attempt = Attempt { at: 11, millis: 1, outcome };
        let (effect, next) = (AttemptEffect::Failed, NextStep::RetryAt(LATER));
        let report = AttemptReport { webhook: hook, number: 1, attempt, effect, next, dropped: 0 };
        records.record_attempts(vec![report]).await.unwrap();
    }
    let records = open().webhook_records();
    let retraction = Retraction { to: None, rebased: Vec::new(), rebase_to: None };
    records.begin_retraction(retraction).await.unwrap();
    let batch = records.list_retracted(9).await.unwrap();
    let id = batch.deliveries[0].0.id.of_removal();
    let body = Bytes::from_static(b"{}");
    let delivery = NewDelivery { webhook: hook, id, kind: EventKind::Removed, location: None, body };
    records.retract(vec![Removal { of: 1, delivery }], batch.upto.unwrap(), 12).await.unwrap();
    records.end_retraction().await.unwrap();
    let left: Vec<EventKind> =
        records.claim(hook, 9, LATER, LATER + 1).await.unwrap().into_iter().map(|claimed| claimed.kind).collect();
    assert_eq!(left, [EventKind::Removed]);
}

#[tokio::test]
async fn a_long_queue_does_not_slow_others_and_drains_evenly() {
    const LONG: u64 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let records = store.webhook_records();
    let long = records.add_webhook(new_webhook(1)).await.unwrap().id;
    let mut short = Vec::new();
    for owner in 2..82 {
        short.push(records.add_webhook(new_webhook(owner)).await.unwrap().id);
    }
    let (alone, beside) = short.split_at(40);
    // The fastest of several claims, so that a busy machine does not matter.
    let fastest_claim = async |webhooks: &[WebhookId]| {
        let mut times = Vec::new();
        for webhook in webhooks {
            let started = Instant::now();
            assert_eq!(records.claim(*webhook, 4, 2, 9).await.unwrap().len(), 1);
            times.push(started.elapsed());
        }
        times.into_iter().min().unwrap()
    };
    let events = short.iter().map(|webhook| message(*webhook, 1)).collect();
    records.enqueue_matches(matches(&records, 1, events).await, 1).await.unwrap();
    let without_long_queue = fastest_claim(alone).await;
    let events = (1..=LONG).map(|number| message(long, number)).collect();
    records.enqueue_matches(matches(&records, 2, events).await, 1).await.unwrap();
    let with_long_queue = fastest_claim(beside).await;
    assert!(
        with_long_queue < 10 * without_long_queue.max(Duration::from_micros(200)),
        "a claim took {without_long_queue:?} without and {with_long_queue:?} next to a long queue"
    );

    let mut claims = Vec::new();
    for start in (1..=LONG).step_by(500) {
        let started = Instant::now();
        let claimed = records.claim(long, 500, 2, 9).await.unwrap();
        claims.push(started.elapsed());
        assert_eq!(claimed.first().map(|claimed| claimed.number), Some(start));
        let reports = claimed.iter().map(|claimed| done(long, claimed.number)).collect();
        records.record_attempts(reports).await.unwrap();
    }
    assert_eq!(records.find_due(long).await.unwrap(), None);
    let (first, last) = claims.split_at(claims.len() / 2);
    let [first, last] = [first, last].map(|claims| *claims.iter().min().unwrap());
    assert!(last < 5 * first && first < 5 * last, "a claim of 500 took {first:?} at first and {last:?} at last");
}
