//! Messages of blocks that are orphaned, and become canonical again.

use domain::{BlockRef, DeliveryId, DeliveryStatus, EventKind, NewDelivery};

use super::{DAY, MINUTE, NOW, added, block, claim, enqueue_at, log, matches, message, report};
use store::{Matches, Orphaning, Part, Removal, Retraction, WebhookRecords};

pub(super) async fn run(records: &dyn WebhookRecords) {
    messages_of_orphaned_blocks_are_cancelled_or_retracted(records).await;
    an_event_keeps_its_id_when_its_block_is_canonical_again(records).await;
    events_queued_in_parts_are_queued_once(records).await;
}

/// Moves the cursor back, and retracts the messages of the blocks above it.
async fn retract(records: &dyn WebhookRecords, to: BlockRef, removals: Vec<Removal>, now: u64) {
    let retraction = Retraction { to: Some(to), rebased: Vec::new(), rebase_to: None };
    records.begin_retraction(retraction).await.expect("begin");
    finish_retraction(records, removals, now, 100).await;
}

pub(super) async fn finish_retraction(records: &dyn WebhookRecords, removals: Vec<Removal>, now: u64, limit: usize) {
    assert!(records.progress().await.expect("progress").retracting);
    loop {
        let batch = records.list_retracted(limit).await.expect("list");
        assert!(batch.deliveries.len() <= limit);
        let Some(upto) = batch.upto else { break };
        records.retract(removals.clone(), upto, now).await.expect("retract");
    }
    records.end_retraction().await.expect("end");
    assert!(!records.progress().await.expect("progress").retracting);
}

async fn messages_of_orphaned_blocks_are_cancelled_or_retracted(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    let fork = block(20, 1);
    enqueue_at(records, fork, vec![message(hook.id, 1, Some(fork))]).await;
    let (left, also_left) = (block(21, 1), block(22, 1));
    let deliveries = (2..=5).map(|number| message(hook.id, number, Some(left))).collect();
    enqueue_at(records, left, deliveries).await;
    enqueue_at(records, also_left, vec![message(hook.id, 6, Some(also_left))]).await;
    // 2 is delivered, 3 failed once, 4 was claimed and not reported when its lease ended, 5 and 6 are pending.
    let claimed = claim(records, hook.id, 4, NOW).await;
    records
        .record_attempts(vec![
            report(&claimed[0], NOW, 200, domain::NextStep::Done),
            report(&claimed[1], NOW, 200, domain::NextStep::Done),
            report(&claimed[2], NOW, 500, domain::NextStep::RetryAt(NOW + 1)),
        ])
        .await
        .expect("record");
    let removal = |of: u64| {
        let kind = EventKind::Removed;
        Removal { of, delivery: NewDelivery { kind, ..message(hook.id, 100 + of, Some(left)) } }
    };
    let before = records.watch_list().await.expect("watch list");
    let retraction = Retraction { to: Some(fork), rebased: vec![hook.id], rebase_to: Some(fork) };
    records.begin_retraction(retraction).await.expect("begin");
    let to_retract = records.list_retracted(100).await.expect("list").deliveries;
    assert_eq!(to_retract.iter().map(|(delivery, _)| delivery.number).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    assert_eq!(to_retract[0].1, message(hook.id, 2, None).body);
    assert_eq!(to_retract[0].0.location.map(|location| location.block), Some(left));
    assert_eq!(records.list_retracted(2).await.expect("list").deliveries, to_retract[..2]);
    // In parts, as if a crash came between them.
    finish_retraction(records, (2..=6).map(removal).collect(), NOW + 2 * MINUTE, 2).await;
    assert_eq!(records.find_cursor().await.expect("cursor"), Some(fork));
    assert_eq!(records.list_matched_blocks(100, 1).await.expect("blocks"), [fork]);
    let times = async |block| records.find_orphaning(block).await.expect("find").map(|orphaning| orphaning.times);
    assert_eq!((times(left).await, times(fork).await, times(block(21, 2)).await), (Some(1), None, None));
    assert_eq!(records.list_retracted(9).await.expect("list").deliveries, []);
    let after = records.watch_list().await.expect("watch list");
    assert_ne!(after.version, before.version);
    let watcher = after.watchers.iter().find(|watcher| watcher.webhook == hook.id).expect("watcher");
    assert_eq!(watcher.after, Some(fork));

    let statuses: Vec<_> = log(records, hook.id).await.into_iter().map(|delivery| delivery.status).collect();
    let pending = DeliveryStatus::Pending { due: None };
    assert_eq!(
        statuses,
        [
            DeliveryStatus::Delivered,
            DeliveryStatus::Delivered,
            DeliveryStatus::Cancelled,
            DeliveryStatus::Cancelled,
            DeliveryStatus::Cancelled,
            DeliveryStatus::Cancelled,
            pending,
            pending,
        ]
    );
    // The one that was claimed fails, and is not retried; only the removals of 2 and 4 are left to send.
    records
        .record_attempts(vec![report(&claimed[3], NOW, 500, domain::NextStep::RetryAt(NOW + 9))])
        .await
        .expect("record");
    let left_to_send = claim(records, hook.id, 9, NOW + DAY).await;
    assert_eq!(
        left_to_send.iter().map(|claimed| claimed.id).collect::<Vec<_>>(),
        [removal(2).delivery.id, removal(4).delivery.id]
    );
    assert!(left_to_send.iter().all(|claimed| claimed.kind == EventKind::Removed));

    // The same block is canonical and orphaned again: the removals belong to no block, and stay.
    enqueue_at(records, left, vec![message(hook.id, 7, Some(left))]).await;
    retract(records, fork, Vec::new(), NOW).await;
    assert_eq!(times(left).await, Some(2));
    let statuses: Vec<_> = log(records, hook.id).await.into_iter().map(|delivery| delivery.status).collect();
    assert_eq!(statuses[6..], [pending, pending, DeliveryStatus::Cancelled]);
}

async fn an_event_keeps_its_id_when_its_block_is_canonical_again(records: &dyn WebhookRecords) {
    let (hook, quiet) = (added(records).await, added(records).await);
    let (fork, left) = (block(30, 1), block(31, 1));
    enqueue_at(records, fork, Vec::new()).await;
    let both = |number| [hook.id, quiet.id].map(|webhook| message(webhook, number, Some(left)));
    enqueue_at(records, left, [both(1), both(2)].concat()).await;
    // The first of each is delivered, the second is pending.
    for webhook in [hook.id, quiet.id] {
        let claimed = claim(records, webhook, 1, NOW).await;
        records.record_attempts(vec![report(&claimed[0], NOW, 200, domain::NextStep::Done)]).await.expect("record");
    }
    let removal =
        || Removal { of: 1, delivery: NewDelivery { kind: EventKind::Removed, ..message(hook.id, 101, Some(left)) } };
    let statuses = async |webhook| -> Vec<(DeliveryId, DeliveryStatus)> {
        log(records, webhook).await.into_iter().map(|delivery| (delivery.id, delivery.status)).collect()
    };
    let id = |webhook, number| message(webhook, number, None).id;
    let (delivered, cancelled) = (DeliveryStatus::Delivered, DeliveryStatus::Cancelled);
    let pending = DeliveryStatus::Pending { due: None };
    retract(records, fork, vec![removal()], NOW).await;

    // A webhook created in between is newer than the block.
    let late = added(records).await;
    let orphaning = records.find_orphaning(left).await.expect("find").expect("orphaned");
    assert!(orphaning.known_to >= quiet.id && orphaning.known_to < late.id, "{orphaning:?}");
    assert_eq!(orphaning, Orphaning { times: 1, known_to: orphaning.known_to });

    enqueue_at(records, left, [both(1), both(2)].concat()).await;
    assert_eq!(
        statuses(hook.id).await,
        [
            (id(hook.id, 1), delivered),
            (id(hook.id, 2), cancelled),
            (id(hook.id, 101), pending),
            (id(hook.id, 1), pending),
            (id(hook.id, 2), pending),
        ],
        "retracted and cancelled events are queued again with the same id"
    );
    assert_eq!(
        statuses(quiet.id).await,
        [(id(quiet.id, 1), delivered), (id(quiet.id, 2), cancelled), (id(quiet.id, 2), pending)],
        "an event that was not retracted is not queued again"
    );
    let newest = records.find_delivery(hook.id, id(hook.id, 1)).await.expect("find").expect("delivery");
    assert_eq!(newest.number, 4, "an id finds the newest delivery");

    // It is orphaned again, and the messages queued the second time are retracted.
    retract(records, fork, Vec::new(), NOW).await;
    let orphaning = records.find_orphaning(left).await.expect("find").expect("orphaned");
    assert_eq!(orphaning.times, 2);
    assert!(orphaning.known_to < late.id, "the value of the first time is kept");
    assert_eq!(statuses(quiet.id).await[2], (id(quiet.id, 2), cancelled));
    assert_eq!(statuses(hook.id).await[3..], [(id(hook.id, 1), cancelled), (id(hook.id, 2), cancelled)]);

    // The oldest are deleted one by one, and the id still finds the newest.
    while records.forget_deliveries(NOW + 1, 1).await.expect("forget") > 0 {
        if let Some(newest) = records.find_delivery(hook.id, id(hook.id, 1)).await.expect("find") {
            assert_eq!(newest.number, 4);
        }
    }
    assert_eq!(log(records, hook.id).await, []);
    assert_eq!(records.find_delivery(hook.id, id(hook.id, 1)).await.expect("find"), None);
}

async fn events_queued_in_parts_are_queued_once(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    let (fork, giant) = (block(40, 1), block(41, 1));
    enqueue_at(records, fork, Vec::new()).await;
    let part_of_block = async |numbers: &[u64], part| {
        let messages = numbers.iter().map(|number| message(hook.id, *number, Some(giant))).collect();
        Matches { part, ..matches(records, vec![giant], messages).await }
    };
    records.enqueue_matches(part_of_block(&[1, 2], Part::More).await, NOW).await.expect("enqueue");
    let progress = records.progress().await.expect("progress");
    assert_eq!(
        (progress.cursor, progress.begun),
        (Some(fork), Some(giant)),
        "the cursor moves with the last part only"
    );
    assert_eq!(claim(records, hook.id, 1, NOW).await.len(), 1, "queued messages can be sent");
    // After a crash, the block is matched from its start.
    records.enqueue_matches(part_of_block(&[1, 2, 3], Part::More).await, NOW).await.expect("enqueue");
    records.enqueue_matches(part_of_block(&[4], Part::Last).await, NOW).await.expect("enqueue");
    let progress = records.progress().await.expect("progress");
    assert_eq!((progress.cursor, progress.begun), (Some(giant), None));
    let ids: Vec<DeliveryId> = log(records, hook.id).await.into_iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids, [1, 2, 3, 4].map(|number| message(hook.id, number, None).id));
    // Messages of a block that was queued in part are retracted too.
    let begun = block(42, 1);
    let part =
        Matches { part: Part::More, ..matches(records, vec![begun], vec![message(hook.id, 5, Some(begun))]).await };
    records.enqueue_matches(part, NOW).await.expect("enqueue");
    retract(records, giant, Vec::new(), NOW).await;
    let last = log(records, hook.id).await.pop().expect("delivery");
    assert_eq!((last.number, last.status), (5, DeliveryStatus::Cancelled));
    assert_eq!(records.progress().await.expect("progress").begun, None);
}
