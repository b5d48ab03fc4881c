//! Behaviour at the capacity limits.

use domain::{Address, BlockRef, DeliveryId, DropCount, NewWebhook, NextStep, PageRequest, WebhookId};

use super::{DAY, NOW, added, block, claim, event, matches, message, new_webhook, reorgs::finish_retraction, report};
use store::{
    AddWebhookError, Matches, NewEvent, QueueCounts, Recipient, Retraction, WEBHOOKS_PER_OWNER, WebhookLimits,
    WebhookRecords,
};

/// One body for several webhooks.
fn shared(number: u64, at: BlockRef, webhooks: &[WebhookId]) -> NewEvent {
    let recipients = webhooks
        .iter()
        .map(|webhook| Recipient { webhook: *webhook, id: message(*webhook, number, None).id })
        .collect();
    NewEvent { recipients, ..event(message(0, number, Some(at))) }
}

pub(super) async fn run(records: &dyn WebhookRecords, limits: WebhookLimits) {
    webhooks_are_limited_per_address_and_in_total(records, limits).await;
    a_full_queue_drops_and_counts_its_oldest_messages(records, limits).await;
    pending_messages_are_limited_per_owner_and_in_total(records, limits).await;
    a_long_log_is_truncated_without_losing_pending_messages(records, limits).await;
}

async fn clear(records: &dyn WebhookRecords) {
    for watcher in records.watch_list().await.expect("watch list").watchers {
        records.delete_webhook(watcher.webhook).await.expect("delete");
    }
    while records.forget_deliveries(0, 1_000).await.expect("forget") > 0 {}
    assert_eq!((records.totals().webhooks, records.totals().pending), (0, 0));
}

async fn webhooks_are_limited_per_address_and_in_total(records: &dyn WebhookRecords, limits: WebhookLimits) {
    let webhook = |number: usize, watched: u8| {
        let owner = Address::with_last_byte(u8::try_from(number / WEBHOOKS_PER_OWNER).expect("few"));
        NewWebhook { watched: Address::repeat_byte(watched), ..new_webhook(owner) }
    };
    for number in 0..limits.per_address {
        records.add_webhook(webhook(number, 1)).await.expect("add");
    }
    let beyond = records.add_webhook(webhook(limits.per_address, 1)).await;
    assert!(matches!(beyond, Err(AddWebhookError::AddressFull)), "{beyond:?}");
    for number in limits.per_address..limits.webhooks {
        let watched = 1 + u8::try_from(number / limits.per_address).expect("few");
        records.add_webhook(webhook(number, watched)).await.expect("add");
    }
    assert_eq!(records.totals().webhooks, limits.webhooks as u64);
    let beyond = records.add_webhook(webhook(limits.webhooks, 99)).await;
    assert!(matches!(beyond, Err(AddWebhookError::Full)), "{beyond:?}");
    clear(records).await;
    records.add_webhook(webhook(0, 1)).await.expect("there is room again");
    clear(records).await;
}

async fn counts(records: &dyn WebhookRecords, webhook: WebhookId) -> (u64, u64) {
    let QueueCounts { pending, dropped } = records.queue_counts(webhook).await.expect("counts");
    (pending, dropped)
}

async fn enqueue_shared(records: &dyn WebhookRecords, at: BlockRef, events: Vec<NewEvent>) {
    let matches = Matches { events, ..matches(records, vec![at], Vec::new()).await };
    records.enqueue_matches(matches, NOW).await.expect("enqueue");
}

async fn a_full_queue_drops_and_counts_its_oldest_messages(records: &dyn WebhookRecords, limits: WebhookLimits) {
    let bound = limits.pending_per_webhook;
    let (dead, other) = (added(records).await.id, added(records).await.id);
    // More than the limit at once: the newest are kept.
    let first = block(50, 1);
    enqueue_shared(records, first, (1..=bound + 3).map(|number| shared(number, first, &[dead])).collect()).await;
    assert_eq!(counts(records, dead).await, (bound, 3));
    // Then one by one. The other webhook shares the bodies.
    let second = block(51, 1);
    enqueue_shared(records, second, vec![shared(bound + 4, second, &[dead, other])]).await;
    assert_eq!(counts(records, dead).await, (bound, 4));
    assert_eq!(counts(records, other).await, (1, 0));
    assert_eq!(records.totals().pending, bound + 1);
    let before = records.totals().dropped;
    let claimed = claim(records, dead, 100, NOW).await;
    assert_eq!(claimed.len() as u64, bound);
    let ids: Vec<DeliveryId> = claimed.iter().map(|claimed| claimed.id).collect();
    assert_eq!(ids, (5..=bound + 4).map(|number| message(dead, number, None).id).collect::<Vec<_>>());
    assert_eq!(claimed[0].dropped, DropCount { total: 4, reported: 0 });
    assert_eq!(claimed[0].body, message(0, 5, None).body);

    // A message dropped in flight leaves nothing behind; a success acknowledges the drops it reported.
    let third = block(52, 1);
    enqueue_shared(records, third, vec![shared(bound + 5, third, &[dead])]).await;
    assert_eq!(records.totals().dropped, before + 1);
    let failed = report(&claimed[0], NOW, 500, NextStep::RetryAt(NOW + 1));
    let success = report(&claimed[1], NOW, 200, NextStep::Done);
    records.record_attempts(vec![failed, success]).await.expect("record");
    assert_eq!(counts(records, dead).await, (bound - 1, 5));
    records.end_leases().await.expect("end leases");
    let next = claim(records, dead, 1, NOW + 2).await;
    assert_eq!(next[0].dropped, DropCount { total: 5, reported: 4 });
    assert_eq!(next[0].dropped.unreported(), 1);

    // A body is deleted with its last recipient, and not before.
    let last = claim(records, other, 1, NOW).await;
    assert_eq!(last[0].body, message(0, bound + 4, None).body);
    records.delete_webhook(dead).await.expect("delete");
    while records.forget_deliveries(0, 1_000).await.expect("forget") > 0 {}
    records.end_leases().await.expect("end leases");
    assert_eq!(claim(records, other, 1, NOW + 1).await[0].body, last[0].body);
    clear(records).await;
}

async fn pending_messages_are_limited_per_owner_and_in_total(records: &dyn WebhookRecords, limits: WebhookLimits) {
    let mut at = 60;
    let mut fill = async |webhook: WebhookId, count: u64| {
        let at = {
            at += 1;
            block(at, 1)
        };
        let events = (0..count).map(|number| shared(at.number * 1_000 + number, at, &[webhook])).collect();
        enqueue_shared(records, at, events).await;
    };
    let owner = Address::repeat_byte(0xd0);
    let mut hooks = Vec::new();
    for _ in 0..=limits.pending_per_owner / limits.pending_per_webhook {
        hooks.push(records.add_webhook(new_webhook(owner)).await.expect("add").id);
    }
    for hook in &hooks {
        fill(*hook, limits.pending_per_webhook).await;
    }
    assert_eq!(records.totals().pending, limits.pending_per_owner);
    let last = counts(records, *hooks.last().expect("hook")).await;
    assert_eq!(last, (limits.pending_per_webhook, 0), "the newest messages are kept");

    // Others fill the rest. Then the fullest queues drop messages in favour of a small one.
    let mut others = Vec::new();
    while records.totals().pending < limits.pending {
        let other = added(records).await.id;
        fill(other, limits.pending_per_webhook).await;
        others.push(other);
    }
    assert_eq!(records.totals().pending, limits.pending);
    let small = added(records).await.id;
    fill(small, 2).await;
    fill(small, 1).await;
    assert_eq!(records.totals().pending, limits.pending);
    assert_eq!(counts(records, small).await, (3, 0));
    clear(records).await;
}

async fn a_long_log_is_truncated_without_losing_pending_messages(records: &dyn WebhookRecords, limits: WebhookLimits) {
    let hook = added(records).await.id;
    let first = block(200, 1);
    enqueue_shared(records, first, vec![shared(1, first, &[hook])]).await;
    let stuck = claim(records, hook, 1, NOW).await;
    let later = NextStep::RetryAt(NOW + DAY);
    records.record_attempts(vec![report(&stuck[0], NOW, 500, later)]).await.expect("record");
    // Meanwhile many newer ones are delivered.
    for number in 2..limits.kept_per_webhook() + 10 {
        let at = block(200 + number, 1);
        enqueue_shared(records, at, vec![shared(number, at, &[hook])]).await;
        let claimed = claim(records, hook, 9, NOW).await;
        let reports = claimed.iter().map(|claimed| report(claimed, NOW, 200, NextStep::Done)).collect();
        records.record_attempts(reports).await.expect("record");
    }
    let page = records.list_deliveries(hook, PageRequest::newest(1)).await.expect("list");
    assert!(page.total <= limits.kept_per_webhook(), "{} are kept", page.total);
    let found = records.find_delivery(hook, message(hook, 1, None).id).await.expect("find");
    assert!(found.is_some_and(|found| found.attempt_count >= 1), "the pending one is kept");
    let sent_again = records.find_delivery(hook, message(hook, 1, None).id).await.expect("find").expect("delivery");
    assert_eq!(sent_again.location.map(|location| location.block), Some(first));
    assert_eq!(counts(records, hook).await.1, 0);
    // Its block is orphaned: it is still found by its block.
    let retraction = Retraction { to: None, rebased: Vec::new(), rebase_to: None };
    records.begin_retraction(retraction).await.expect("begin");
    finish_retraction(records, Vec::new(), NOW, 7).await;
    assert_eq!(counts(records, hook).await.0, 0);
    clear(records).await;
}
