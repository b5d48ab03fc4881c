//! Events of internal transactions, which have a cursor of their own.

use domain::{EventKind, NewDelivery};

use super::{NOW, added, block, enqueue_at, event, log, matches, message, reorgs::finish_retraction};
use store::{EnqueueError, InternalMatches, Matches, Part, Retraction, WebhookRecords};

const FIRST: u64 = 70_000;

async fn cursor(records: &dyn WebhookRecords) -> Option<u64> {
    records.progress().await.expect("progress").internal
}

async fn internal(records: &dyn WebhookRecords, to: u64, deliveries: Vec<NewDelivery>) -> InternalMatches {
    InternalMatches {
        version: records.watch_list().await.expect("watch list").version,
        from: cursor(records).await,
        to,
        events: deliveries.into_iter().map(event).collect(),
        part: Part::Last,
    }
}

pub(super) async fn run(records: &dyn WebhookRecords) {
    let hook = added(records).await;
    let [first, second, third] = [0, 1, 2].map(|number| block(FIRST + number, 1));
    let skipping = Matches { skips_internal: true, ..matches(records, vec![first], Vec::new()).await };
    records.enqueue_matches(skipping, NOW).await.expect("enqueue");
    assert_eq!(cursor(records).await, Some(FIRST), "moves along");
    enqueue_at(records, second, vec![message(hook.id, 1, Some(second))]).await;
    enqueue_at(records, third, Vec::new()).await;
    assert_eq!(cursor(records).await, Some(FIRST), "stays");

    let payment = |number| NewDelivery { kind: EventKind::Internal, ..message(hook.id, number, Some(second)) };
    let part = internal(records, FIRST + 1, vec![payment(2)]).await;
    records.enqueue_internal(InternalMatches { part: Part::More, ..part }, NOW).await.expect("enqueue");
    assert_eq!(cursor(records).await, Some(FIRST), "a part does not move it");
    let matched = internal(records, FIRST + 1, vec![payment(2), payment(3)]).await;
    records.enqueue_internal(matched.clone(), NOW).await.expect("enqueue");
    assert_eq!(cursor(records).await, Some(FIRST + 1));
    let kinds: Vec<_> = log(records, hook.id).await.into_iter().map(|delivery| delivery.kind).collect();
    assert_eq!(kinds, [EventKind::Tx, EventKind::Internal, EventKind::Internal], "each event is queued once");

    for stale in [
        InternalMatches { from: Some(FIRST), ..matched.clone() },
        InternalMatches { version: matched.version + 1, from: Some(FIRST + 1), ..matched },
    ] {
        let refused = records.enqueue_internal(stale, NOW).await;
        assert!(matches!(refused, Err(EnqueueError::Stale)), "{refused:?}");
    }

    // A reorg moves it back, and retracts the messages. One above it leaves it where it is.
    let retraction = |to| Retraction { to: Some(to), rebased: Vec::new(), rebase_to: None };
    records.begin_retraction(retraction(second)).await.expect("begin");
    finish_retraction(records, Vec::new(), NOW, 100).await;
    assert_eq!(cursor(records).await, Some(FIRST + 1));
    records.begin_retraction(retraction(first)).await.expect("begin");
    assert_eq!(records.list_retracted(10).await.expect("list").deliveries.len(), 3);
    finish_retraction(records, Vec::new(), NOW, 100).await;
    assert_eq!(cursor(records).await, Some(FIRST));
}
