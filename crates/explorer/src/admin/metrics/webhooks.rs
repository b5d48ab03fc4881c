//! The queues of webhooks, and how attempts to deliver ended.

use std::time::Duration;

use domain::UnixMillis;
use metrics::Text;
use store::{WebhookRecords, WebhookTotals};
use webhooks::DeliveryMetrics;

/// The queues of all webhooks now.
pub(super) struct Queues {
    totals: WebhookTotals,
    /// None if the store does not answer.
    cursor: Option<u64>,
    /// When the oldest message was queued that has not been tried.
    oldest: Option<Option<UnixMillis>>,
}

impl Queues {
    pub(super) async fn read(records: &dyn WebhookRecords, timeout: Duration) -> Self {
        let read = async { tokio::join!(records.find_cursor(), records.find_oldest_untried()) };
        let (cursor, oldest) = match tokio::time::timeout(timeout, read).await {
            Ok((cursor, oldest)) => (cursor.ok().flatten().map(|block| block.number), oldest.ok()),
            Err(_) => (None, None),
        };
        Self { totals: records.totals(), cursor, oldest }
    }
}

pub(super) fn write(text: &mut Text, queues: Option<&Queues>, deliveries: Option<&DeliveryMetrics>) {
    let totals = queues.map(|queues| queues.totals);
    text.gauge("explorer_webhooks", "Webhooks of all owners.").value(totals.map(|totals| totals.webhooks));
    text.gauge("explorer_webhook_pending_messages", "Messages that wait to be sent or sent again.")
        .value(totals.map(|totals| totals.pending));
    let age = queues.and_then(|queues| queues.oldest).map(|oldest| oldest.map_or(0.0, seconds_since));
    text.gauge(
        "explorer_webhook_oldest_untried_seconds",
        "The age of the oldest message of an active webhook that has not been tried once; 0 without any.",
    )
    .value(age);
    text.gauge("explorer_webhook_cursor_block", "The newest block that was matched with webhooks.")
        .value(queues.and_then(|queues| queues.cursor));
    text.counter(
        "explorer_webhook_dropped_messages_total",
        "Messages dropped by this process because too many were pending.",
    )
    .value(totals.map(|totals| totals.dropped));
    let mut attempts =
        text.counter("explorer_webhook_attempts_total", "Attempts of this process to deliver a message, by outcome.");
    if let Some(deliveries) = deliveries {
        attempts
            .sample(&[("outcome", "delivered")], deliveries.delivered.get())
            .sample(&[("outcome", "retried")], deliveries.retried.get())
            .sample(&[("outcome", "given_up")], deliveries.given_up.get())
            .sample(&[("outcome", "gone")], deliveries.gone.get());
    }
    let mut times =
        text.histogram("explorer_webhook_attempt_duration_seconds", "Time of an attempt to deliver a message.");
    if let Some(deliveries) = deliveries {
        times.buckets(&[], &deliveries.times);
    }
}

fn seconds_since(moment: UnixMillis) -> f64 {
    unix_time::now().saturating_sub(Duration::from_millis(moment)).as_secs_f64()
}
