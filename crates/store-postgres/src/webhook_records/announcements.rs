//! Notifications about queues with new messages.

use domain::WebhookId;

pub(super) const CHANNEL: &str = "explorer_queues";
/// In place of webhooks, if there are too many for a notification.
pub(super) const ANY: &str = "*";
/// The longest text of a notification, with a margin.
const MAX_PAYLOAD: usize = 7_900;

/// The text of a notification about webhooks.
pub(super) fn payload(webhooks: impl Iterator<Item = WebhookId>) -> String {
    let text = webhooks.map(|webhook| webhook.to_string()).collect::<Vec<_>>().join(",");
    if text.len() > MAX_PAYLOAD { ANY.to_owned() } else { text }
}
