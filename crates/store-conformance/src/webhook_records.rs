mod bounds;
mod internal;
mod reorgs;

use std::sync::Arc;

use domain::{
    Address, Attempt, AttemptEffect, AttemptOutcome, AttemptReport, B256, BlockRef, Bytes, ClaimedDelivery, Delivery,
    DeliveryId, DeliveryStatus, EventKind, EventKinds, EventLocation, NewDelivery, NewWebhook, NextStep, Order,
    PageRequest, SealedSecret, Webhook, WebhookChange, WebhookId,
};
use rand::{Rng, SeedableRng, rngs::StdRng};

use store::{
    AddWebhookError, EnqueueError, MatchedBlock, Matches, NewEvent, Part, QueueHead, Recipient, WEBHOOKS_PER_OWNER,
    WebhookLimits, WebhookRecords, WebhookTotals,
};

const ALICE: Address = Address::repeat_byte(0xa1);
const BOB: Address = Address::repeat_byte(0xb0);
const NOW: u64 = 1_800_000_000_000;
const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;

/// Tests the webhooks of a store with an empty index.
pub async fn run_webhook_records(records: Arc<dyn WebhookRecords>) {
    let records = &*records;
    webhooks_are_stored_changed_and_deleted(records).await;
    webhooks_per_owner_are_limited(records).await;
    matches_and_cursor_move_together(records).await;
    messages_are_claimed_in_order_and_leased(records).await;
    attempts_are_recorded(records).await;
    the_oldest_untried_message_is_found(records).await;
    the_operator_lists_webhooks_and_drops_their_messages(records).await;
    a_wrong_clock_does_not_delay_messages_for_long(records).await;
    a_deleted_or_paused_webhook_sends_nothing(records).await;
    a_message_can_be_requeued(records).await;
    old_messages_are_deleted(records).await;
    queues_are_independent(records).await;
    reorgs::run(records).await;
    internal::run(records).await;
}

/// Tests the webhooks of an empty store with these limits.
pub async fn run_webhook_limits(records: Arc<dyn WebhookRecords>, limits: WebhookLimits) {
    bounds::run(&*records, limits).await;
}

fn new_webhook(owner: Address) -> NewWebhook {
    NewWebhook {
        owner,
        url: "https://receiver.example/hook?a=b".to_owned(),
        watched: BOB,
        events: EventKinds::default().with(EventKind::Tx),
        secret: SealedSecret::new(vec![1, 2, 3]),
        created_at: NOW,
    }
}

async fn added(records: &dyn WebhookRecords) -> Webhook {
    // Each webhook has its own owner, so that the quota is not reached.
    let owner = Address::from(rand::rng().random::<[u8; 20]>());
    records.add_webhook(new_webhook(owner)).await.expect("add")
}

fn message(webhook: WebhookId, number: u64, block: Option<BlockRef>) -> NewDelivery {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&webhook.to_be_bytes());
    id[8..].copy_from_slice(&number.to_be_bytes());
    NewDelivery {
        webhook,
        id: DeliveryId::new(id),
        kind: if block.is_some() { EventKind::Tx } else { EventKind::Ping },
        location: block.map(|block| EventLocation { block, tx_hash: B256::with_last_byte(7) }),
        body: Bytes::from(format!("message {number} to {webhook}").into_bytes()),
    }
}

fn block(number: u64, branch: u8) -> BlockRef {
    let mut hash = B256::repeat_byte(branch);
    hash[24..].copy_from_slice(&number.to_be_bytes());
    BlockRef { number, hash }
}

fn event(new: NewDelivery) -> NewEvent {
    let recipients = vec![Recipient { webhook: new.webhook, id: new.id }];
    NewEvent { kind: new.kind, location: new.location, body: new.body, recipients }
}

async fn matches(records: &dyn WebhookRecords, blocks: Vec<BlockRef>, deliveries: Vec<NewDelivery>) -> Matches {
    let list = records.watch_list().await.expect("watch list");
    let known_to = list.watchers.iter().map(|watcher| watcher.webhook).max().unwrap_or_default();
    Matches {
        version: list.version,
        from: records.find_cursor().await.expect("cursor"),
        blocks: blocks.into_iter().map(|block| MatchedBlock { block, known_to }).collect(),
        events: deliveries.into_iter().map(event).collect(),
        part: Part::Last,
        skips_internal: false,
    }
}

async fn enqueue_at(records: &dyn WebhookRecords, block: BlockRef, deliveries: Vec<NewDelivery>) {
    let matches = matches(records, vec![block], deliveries).await;
    records.enqueue_matches(matches, NOW).await.expect("enqueue");
}

fn report(claimed: &ClaimedDelivery, at: u64, status: u16, next: NextStep) -> AttemptReport {
    let effect = match status {
        200..300 => AttemptEffect::Succeeded,
        410 => AttemptEffect::Gone,
        _ => AttemptEffect::Failed,
    };
    let outcome = AttemptOutcome::Answered { status, body: format!("answer {status}") };
    let attempt = Attempt { at, millis: 5, outcome };
    let ClaimedDelivery { webhook, number, dropped, .. } = *claimed;
    AttemptReport { webhook, number, attempt, effect, next, dropped: dropped.total }
}

async fn claim(records: &dyn WebhookRecords, webhook: WebhookId, limit: usize, now: u64) -> Vec<ClaimedDelivery> {
    records.claim(webhook, limit, now, now + MINUTE).await.expect("claim")
}

async fn log(records: &dyn WebhookRecords, webhook: WebhookId) -> Vec<Delivery> {
    let page = PageRequest { offset: 0, limit: 1_000, order: Order::OldestFirst };
    records.list_deliveries(webhook, page).await.expect("list").items
}

async fn webhooks_are_stored_changed_and_deleted(records: &dyn WebhookRecords) {
    assert_eq!(records.list_webhooks(ALICE).await.expect("list"), []);
    assert_eq!(records.find_webhook(1).await.expect("find"), None);
    assert_eq!(records.find_webhook(u64::MAX).await.expect("find"), None);
    let empty = records.watch_list().await.expect("watch list");
    assert_eq!(empty.watchers, []);

    let wanted = new_webhook(ALICE);
    let first = records.add_webhook(wanted.clone()).await.expect("add");
    let expected = Webhook {
        id: first.id,
        owner: ALICE,
        url: wanted.url,
        watched: BOB,
        events: wanted.events,
        active: true,
        created_at: NOW,
        after: None,
        secret: wanted.secret,
        retired_secrets: Vec::new(),
        last_triggered_at: None,
        fail_count: 0,
        failing_since: None,
        proven: false,
    };
    assert_eq!(first, expected);
    let second = records.add_webhook(new_webhook(ALICE)).await.expect("add");
    assert!(first.id >= 1 && second.id > first.id);
    assert_eq!(records.list_webhooks(ALICE).await.expect("list"), [second.clone(), first.clone()]);
    assert_eq!(records.list_webhooks(BOB).await.expect("list"), []);
    assert_eq!(records.find_webhook(second.id).await.expect("find"), Some(second.clone()));
    let watched = records.watch_list().await.expect("watch list");
    assert_ne!(watched.version, empty.version);
    assert_eq!(watched.watchers.iter().map(|watcher| watcher.webhook).collect::<Vec<_>>(), [first.id, second.id]);

    let change = WebhookChange {
        active: Some(false),
        url: Some("https://other.example/".to_owned()),
        events: Some(EventKinds::default().with(EventKind::Removed)),
    };
    let changed = records.change_webhook(first.id, change).await.expect("change").expect("webhook");
    assert_eq!((changed.active, changed.url.as_str()), (false, "https://other.example/"));
    assert!(changed.events.contains(EventKind::Removed) && !changed.events.contains(EventKind::Tx));
    assert_eq!(records.find_webhook(first.id).await.expect("find"), Some(changed));
    let paused = records.watch_list().await.expect("watch list");
    assert_eq!(paused.watchers.len(), 1, "a paused webhook watches nothing");
    assert_ne!(paused.version, watched.version);

    let rotated = records.rotate_secret(second.id, SealedSecret::new(vec![9]), NOW + DAY).await.expect("rotate");
    let rotated = rotated.expect("webhook");
    assert_eq!(rotated.secret.as_bytes(), [9]);
    assert_eq!(rotated.retired_secrets, [domain::RetiredSecret { secret: second.secret, until: NOW + DAY }]);

    assert!(records.delete_webhook(first.id).await.expect("delete"));
    assert!(!records.delete_webhook(first.id).await.expect("delete"));
    assert_eq!(records.find_webhook(first.id).await.expect("find"), None);
    assert_eq!(records.change_webhook(first.id, WebhookChange::default()).await.expect("change"), None);
    assert_eq!(records.rotate_secret(first.id, SealedSecret::new(vec![]), 0).await.expect("rotate"), None);
    let third = records.add_webhook(new_webhook(ALICE)).await.expect("add");
    assert!(third.id > second.id, "an id is not reused");
}

async fn webhooks_per_owner_are_limited(records: &dyn WebhookRecords) {
    let owner = Address::repeat_byte(0xc0);
    let mut ids = Vec::new();
    for _ in 0..WEBHOOKS_PER_OWNER {
        ids.push(records.add_webhook(new_webhook(owner)).await.expect("add").id);
    }
    let beyond = records.add_webhook(new_webhook(owner)).await;
    assert!(matches!(beyond, Err(AddWebhookError::QuotaReached)), "{beyond:?}");
    records.delete_webhook(ids[3]).await.expect("delete");
    records.add_webhook(new_webhook(owner)).await.expect("add");
}

async fn matches_and_cursor_move_together(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    assert_eq!(records.find_cursor().await.expect("cursor"), None);
    let (one, two) = (block(10, 1), block(11, 1));
    let deliveries = vec![message(hook.id, 1, Some(one)), message(hook.id, 2, Some(two))];
    let first = matches(records, vec![one, two], deliveries).await;
    records.enqueue_matches(first.clone(), NOW).await.expect("enqueue");
    assert_eq!(records.find_cursor().await.expect("cursor"), Some(two));
    assert_eq!(records.list_matched_blocks(100, 10).await.expect("blocks"), [two, one]);
    assert_eq!(records.list_matched_blocks(11, 10).await.expect("blocks"), [one]);

    // A repeated batch, as after a crash, and one that missed a new watcher both change nothing.
    let again = records.enqueue_matches(first, NOW).await;
    assert!(matches!(again, Err(EnqueueError::Stale)), "{again:?}");
    let unaware = matches(records, vec![block(12, 1)], vec![message(hook.id, 3, Some(block(12, 1)))]).await;
    added(records).await;
    let unaware = records.enqueue_matches(unaware, NOW).await;
    assert!(matches!(unaware, Err(EnqueueError::Stale)), "{unaware:?}");
    assert_eq!(records.find_cursor().await.expect("cursor"), Some(two));

    let logged = log(records, hook.id).await;
    assert_eq!(logged.iter().map(|delivery| delivery.number).collect::<Vec<_>>(), [1, 2]);
    assert!(logged.iter().all(|delivery| delivery.status == DeliveryStatus::Pending { due: None }));
    assert_eq!(logged[1].location.map(|location| location.block), Some(two));
    assert_eq!(logged[1].created_at, NOW);
}

async fn messages_are_claimed_in_order_and_leased(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    assert_eq!(records.find_due(hook.id).await.expect("due"), None);
    assert_eq!(claim(records, hook.id, 5, NOW).await, []);
    for number in 1..=6 {
        let queued = records.enqueue(message(hook.id, number, None), NOW).await.expect("enqueue").expect("webhook");
        assert_eq!(queued.number, number);
    }
    assert_eq!(records.find_due(hook.id).await.expect("due"), Some(0));
    let heads = records.list_queues().await.expect("queues");
    assert!(heads.contains(&QueueHead { webhook: hook.id, due: 0 }), "{heads:?}");

    let first = claim(records, hook.id, 4, NOW).await;
    assert_eq!(first.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(first[2].body, message(hook.id, 3, None).body);
    assert_eq!((first[2].id, first[2].attempt_count), (message(hook.id, 3, None).id, 0));
    let rest = claim(records, hook.id, 4, NOW + 1).await;
    assert_eq!(rest.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [5, 6]);
    assert_eq!(claim(records, hook.id, 4, NOW + 2).await, []);
    assert!(records.find_due(hook.id).await.expect("due") >= Some(NOW), "not before a lease ends");

    records.release(vec![(hook.id, 6), (hook.id, 3)]).await.expect("release");
    let released = claim(records, hook.id, 9, NOW + 3).await;
    assert_eq!(released.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [3, 6]);
    // Without a report, they can be claimed again when the leases end.
    let late = claim(records, hook.id, 9, NOW + 2 * MINUTE).await;
    assert_eq!(late.len(), 6);
}

async fn attempts_are_recorded(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    for number in 1..=3 {
        records.enqueue(message(hook.id, number, None), NOW).await.expect("enqueue");
    }
    let claimed = claim(records, hook.id, 3, NOW).await;
    let states = records
        .record_attempts(vec![
            report(&claimed[0], NOW, 204, NextStep::Done),
            report(&claimed[1], NOW, 500, NextStep::RetryAt(NOW + 5_000)),
            report(&claimed[2], NOW, 500, NextStep::RetryAt(NOW + 3_000)),
        ])
        .await
        .expect("record");
    assert_eq!(states.len(), 1);
    assert_eq!((states[0].webhook.fail_count, states[0].due), (2, Some(NOW + 3_000)));
    assert_eq!(states[0].webhook.last_triggered_at, Some(NOW + 5));
    assert!(states[0].webhook.proven);
    assert_eq!(claim(records, hook.id, 9, NOW + 2_999).await, []);
    let due = claim(records, hook.id, 9, NOW + 3_000).await;
    assert_eq!(due.iter().map(|claimed| (claimed.number, claimed.attempt_count)).collect::<Vec<_>>(), [(3, 1)]);
    records.record_attempts(vec![report(&due[0], NOW + 3_000, 404, NextStep::GiveUp)]).await.expect("record");
    // A retry comes before a newer message.
    records.enqueue(message(hook.id, 4, None), NOW).await.expect("enqueue");
    let due = claim(records, hook.id, 9, NOW + 9_000).await;
    assert_eq!(due.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [2, 4]);
    let states =
        records.record_attempts(vec![report(&due[0], NOW + 9_000, 200, NextStep::Done)]).await.expect("record");
    assert_eq!(states[0].webhook.fail_count, 0);

    let logged = log(records, hook.id).await;
    let statuses: Vec<_> = logged.iter().map(|delivery| (delivery.status, delivery.attempt_count)).collect();
    assert_eq!(
        statuses[..3],
        [(DeliveryStatus::Delivered, 1), (DeliveryStatus::Delivered, 2), (DeliveryStatus::Failed, 2)]
    );
    assert_eq!(logged[1].attempts[0], report(&claimed[1], NOW, 500, NextStep::Done).attempt);
    assert_eq!(logged[1].attempts.len(), 2);
    let newest = records.list_deliveries(hook.id, PageRequest::newest(2)).await.expect("list");
    assert_eq!((newest.total, newest.items[0].number, newest.items[1].number), (4, 4, 3));
}

async fn the_oldest_untried_message_is_found(records: &dyn WebhookRecords) {
    let (hook, before) = (added(records).await, records.find_oldest_untried().await.expect("oldest"));
    for (number, at) in [(1, 7), (2, 9), (3, NOW + MINUTE)] {
        records.enqueue(message(hook.id, number, None), at).await.expect("enqueue");
    }
    let oldest = async || records.find_oldest_untried().await.expect("oldest");
    assert_eq!(oldest().await, Some(7));
    let claimed = claim(records, hook.id, 2, NOW).await;
    assert_eq!(oldest().await, Some(7), "a message in flight has not been tried");
    let failed = report(&claimed[0], NOW, 500, NextStep::RetryAt(NOW + MINUTE));
    let delivered = report(&claimed[1], NOW, 200, NextStep::Done);
    records.record_attempts(vec![failed, delivered]).await.expect("record");
    assert_eq!(oldest().await, before.or(Some(NOW + MINUTE)).min(Some(NOW + MINUTE)));
    let pause = WebhookChange { active: Some(false), ..WebhookChange::default() };
    records.change_webhook(hook.id, pause).await.expect("pause");
    assert_eq!(oldest().await, before, "a paused webhook sends nothing");
}

async fn the_operator_lists_webhooks_and_drops_their_messages(records: &dyn WebhookRecords) {
    let (first, second) = (added(records).await, added(records).await);
    let newest = records.list_newest_webhooks(2).await.expect("newest");
    assert_eq!(newest.iter().map(|webhook| webhook.id).collect::<Vec<_>>(), [second.id, first.id]);
    for number in 1..=3 {
        records.enqueue(message(first.id, number, None), NOW).await.expect("enqueue");
    }
    records.enqueue(message(second.id, 1, None), NOW).await.expect("enqueue");
    let claimed = claim(records, first.id, 2, NOW).await;
    records.record_attempts(vec![report(&claimed[0], NOW, 200, NextStep::Done)]).await.expect("record");
    let before = records.totals();
    assert_eq!(records.drop_pending(first.id).await.expect("drop"), Some(2));
    assert_eq!(records.totals(), WebhookTotals { pending: before.pending - 2, dropped: before.dropped + 2, ..before });
    let counts = records.queue_counts(first.id).await.expect("counts");
    assert_eq!((counts.pending, counts.dropped), (0, 2));
    assert_eq!(claim(records, first.id, 9, NOW + 2 * MINUTE).await, []);
    // The attempt that was in flight has nothing to record.
    records.record_attempts(vec![report(&claimed[1], NOW, 200, NextStep::Done)]).await.expect("record");
    assert_eq!(records.queue_counts(first.id).await.expect("counts").pending, 0);
    assert_eq!(records.queue_counts(second.id).await.expect("counts").pending, 1, "another queue is not changed");
    records.enqueue(message(first.id, 4, None), NOW).await.expect("enqueue");
    assert_eq!(claim(records, first.id, 9, NOW + 2 * MINUTE).await.len(), 1, "new messages are sent");
    assert_eq!(records.drop_pending(second.id).await.expect("drop"), Some(1));
    assert_eq!(records.drop_pending(second.id).await.expect("drop"), Some(0));
    assert_eq!(records.drop_pending(u64::from(u32::MAX)).await.expect("drop"), None);
}

async fn a_wrong_clock_does_not_delay_messages_for_long(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    records.enqueue(message(hook.id, 1, None), NOW).await.expect("enqueue");
    let claimed = claim(records, hook.id, 9, NOW + 900 * DAY).await;
    let later = NextStep::RetryAt(NOW + 900 * DAY);
    records.record_attempts(vec![report(&claimed[0], NOW + 900 * DAY, 500, later)]).await.expect("record");
    // The clock is right again: no message may be due in years.
    assert_eq!(claim(records, hook.id, 9, NOW).await.len(), 1);
}

async fn a_deleted_or_paused_webhook_sends_nothing(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    for number in 1..=3 {
        records.enqueue(message(hook.id, number, None), NOW).await.expect("enqueue");
    }
    let claimed = claim(records, hook.id, 1, NOW).await;
    let before = records.watch_list().await.expect("watch list").version;
    let states = records.record_attempts(vec![report(&claimed[0], NOW, 410, NextStep::RetryAt(NOW + 1))]).await;
    let states = states.expect("record");
    assert_eq!((states[0].webhook.active, states[0].due), (false, None));
    assert_ne!(records.watch_list().await.expect("watch list").version, before);
    assert_eq!(claim(records, hook.id, 9, NOW + MINUTE).await, []);
    assert_eq!(records.find_due(hook.id).await.expect("due"), None);
    assert!(records.list_queues().await.expect("queues").iter().all(|head| head.webhook != hook.id));

    let on = WebhookChange { active: Some(true), ..WebhookChange::default() };
    records.change_webhook(hook.id, on).await.expect("change");
    assert_eq!(claim(records, hook.id, 9, NOW + MINUTE).await.len(), 3, "what was queued is still there");

    records.delete_webhook(hook.id).await.expect("delete");
    assert_eq!(claim(records, hook.id, 9, NOW + DAY).await, []);
    assert_eq!(records.enqueue(message(hook.id, 9, None), NOW).await.expect("enqueue"), None);
    // A report for a deleted webhook has no effect.
    let states = records.record_attempts(vec![report(&claimed[0], NOW, 200, NextStep::Done)]).await.expect("record");
    assert_eq!(states, []);
}

async fn a_message_can_be_requeued(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    let wanted = message(hook.id, 1, None);
    records.enqueue(wanted.clone(), NOW).await.expect("enqueue");
    let claimed = claim(records, hook.id, 1, NOW).await;
    records.record_attempts(vec![report(&claimed[0], NOW, 200, NextStep::Done)]).await.expect("record");
    assert_eq!(records.find_due(hook.id).await.expect("due"), None);

    let again = records.requeue(hook.id, wanted.id, NOW + 1).await.expect("requeue").expect("delivery");
    assert_eq!((again.number, again.status), (1, DeliveryStatus::Pending { due: Some(NOW + 1) }));
    assert!(again.may_have_been_received());
    let claimed = claim(records, hook.id, 9, NOW + 1).await;
    assert_eq!(claimed.iter().map(|claimed| (claimed.id, claimed.attempt_count)).collect::<Vec<_>>(), [(wanted.id, 1)]);
    assert_eq!(claimed[0].body, wanted.body);
    // Requeued while in flight: it is sent once.
    records.requeue(hook.id, wanted.id, NOW + 2).await.expect("requeue");
    assert_eq!(claim(records, hook.id, 9, NOW + 3).await, []);
    records.record_attempts(vec![report(&claimed[0], NOW, 200, NextStep::Done)]).await.expect("record");
    assert_eq!(claim(records, hook.id, 9, NOW + DAY).await, []);

    let found = records.find_delivery(hook.id, wanted.id).await.expect("find").expect("delivery");
    assert_eq!((found.number, found.attempt_count), (1, 2));
    assert_eq!(records.find_delivery(hook.id, DeliveryId::new([9; 16])).await.expect("find"), None);
    assert_eq!(records.requeue(hook.id, DeliveryId::new([9; 16]), NOW).await.expect("requeue"), None);
    let other = added(records).await;
    assert_eq!(records.requeue(other.id, wanted.id, NOW).await.expect("requeue"), None, "another webhook's");
}

async fn old_messages_are_deleted(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    for number in 1..=5 {
        records.enqueue(message(hook.id, number, None), NOW + number * DAY).await.expect("enqueue");
    }
    let claimed = claim(records, hook.id, 2, NOW + 9 * DAY).await;
    records
        .record_attempts(vec![report(&claimed[0], NOW, 500, NextStep::RetryAt(NOW + 20 * DAY))])
        .await
        .expect("record");
    let mut forgotten = 0;
    loop {
        let some = records.forget_deliveries(NOW + 4 * DAY, 2).await.expect("forget");
        assert!(some <= 2);
        forgotten += some;
        if some == 0 {
            break;
        }
    }
    assert!(forgotten >= 3);
    let page = records.list_deliveries(hook.id, PageRequest::newest(10)).await.expect("list");
    assert_eq!(page.total, 2);
    assert_eq!(page.items.iter().map(|delivery| delivery.number).collect::<Vec<_>>(), [5, 4]);
    let left = claim(records, hook.id, 9, NOW + 30 * DAY).await;
    assert_eq!(left.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), [4, 5], "a deleted message is not sent");
    assert_eq!(records.requeue(hook.id, message(hook.id, 1, None).id, NOW).await.expect("requeue"), None);
    records.record_attempts(vec![report(&claimed[1], NOW, 200, NextStep::Done)]).await.expect("record");

    records.delete_webhook(hook.id).await.expect("delete");
    while records.forget_deliveries(0, 3).await.expect("forget") > 0 {}
    let page = records.list_deliveries(hook.id, PageRequest::newest(10)).await.expect("list");
    assert_eq!((page.total, page.items.len()), (0, 0));
}

/// Random operations on several webhooks, compared with plain lists.
async fn queues_are_independent(records: &dyn WebhookRecords) {
    let mut rng = StdRng::seed_from_u64(5);
    let mut hooks = Vec::new();
    for _ in 0..5 {
        hooks.push((added(records).await.id, 0_u64, Vec::<(u64, u64)>::new()));
    }
    let mut now = NOW;
    for _ in 0..400 {
        now += rng.random_range(0..3_000);
        let index = rng.random_range(0..hooks.len());
        let (hook, last, waiting) = &mut hooks[index];
        if rng.random_ratio(1, 2) {
            *last += 1;
            records.enqueue(message(*hook, *last, None), now).await.expect("enqueue");
            waiting.push((*last, 0));
            continue;
        }
        let limit = rng.random_range(1..5);
        let claimed = claim(records, *hook, limit, now).await;
        // Retries by due time, then new messages oldest first.
        let mut due: Vec<(u64, u64)> = waiting.iter().map(|(number, due)| (*due, *number)).collect();
        due.retain(|(due, _)| *due <= now);
        due.sort_unstable();
        let (fresh, retries): (Vec<_>, Vec<_>) = due.into_iter().partition(|(due, _)| *due == 0);
        let mut expected: Vec<u64> =
            fresh.into_iter().take(limit).chain(retries.into_iter().take(limit)).map(|(_, number)| number).collect();
        expected.sort_unstable();
        expected.truncate(limit);
        assert_eq!(claimed.iter().map(|claimed| claimed.number).collect::<Vec<_>>(), expected);
        let mut reports = Vec::new();
        for claimed in &claimed {
            waiting.retain(|(number, _)| *number != claimed.number);
            let due = now + rng.random_range(1..20_000);
            let next = match rng.random_range(0..3) {
                0 => NextStep::RetryAt(due),
                1 => NextStep::GiveUp,
                _ => NextStep::Done,
            };
            if next == NextStep::RetryAt(due) {
                waiting.push((claimed.number, due));
            }
            let status = if next == NextStep::Done { 200 } else { 500 };
            reports.push(report(claimed, now, status, next));
        }
        let expected = waiting.iter().map(|(_, due)| *due).min();
        if !reports.is_empty() {
            let states = records.record_attempts(reports).await.expect("record");
            assert_eq!(states.iter().map(|state| state.due).collect::<Vec<_>>(), [expected]);
        }
        assert_eq!(records.find_due(*hook).await.expect("due"), expected);
    }
}
