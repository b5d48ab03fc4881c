use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use store::WebhookRecords;
use tokio_util::sync::CancellationToken;

use crate::clock;

const INTERVAL: Duration = Duration::from_secs(60);
/// Retention time of messages, delivered or not.
pub(crate) const RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Messages deleted in one write.
const BATCH: usize = 2_000;

/// Deletes messages older than a week and messages of deleted webhooks, until cancelled.
pub fn run_housekeeping(records: Arc<dyn WebhookRecords>, cancel: CancellationToken) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        while cancel.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
            let before = clock::now().saturating_sub(u64::try_from(RETENTION.as_millis()).unwrap_or(u64::MAX));
            loop {
                match records.forget_deliveries(before, BATCH).await {
                    Ok(0) => break,
                    Ok(_) if cancel.is_cancelled() => return,
                    Ok(deleted) => tracing::debug!(deleted, "deleted old messages"),
                    Err(error) => {
                        tracing::warn!(%error, "cannot delete old webhook messages; retrying in a minute");
                        break;
                    }
                }
            }
        }
    })
}
