use std::{sync::Arc, time::Duration};

use store::WebhookRecords;
use tokio_util::sync::CancellationToken;

use crate::clock;

const INTERVAL: Duration = Duration::from_secs(60);
/// How long messages are kept, sent or not.
const KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Dropped in one write.
const AT_ONCE: usize = 2_000;

/// Drops messages that are a week old, and those of webhooks that are gone, until told to stop.
pub async fn keep_house(records: Arc<dyn WebhookRecords>, cancel: CancellationToken) {
    while cancel.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
        let before = clock::now().saturating_sub(u64::try_from(KEPT_FOR.as_millis()).unwrap_or(u64::MAX));
        loop {
            match records.forget_deliveries(before, AT_ONCE).await {
                Ok(0) => break,
                Ok(_) if cancel.is_cancelled() => return,
                Ok(forgotten) => tracing::debug!(forgotten, "old messages dropped"),
                Err(error) => {
                    tracing::warn!(%error, "old messages cannot be dropped for now");
                    break;
                }
            }
        }
    }
}
