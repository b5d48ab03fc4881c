//! Notifications about queues with new messages.

use domain::WebhookId;

pub(super) const CHANNEL: &str = "explorer_queues";
/// In place of webhooks, if there are too many for a notification. Not a number.
const ANY: &str = "*";
/// The longest text of a notification, with a margin.
const MAX_PAYLOAD: usize = 7_900;

/// The webhooks of a notification; None if it may be about any: there were too many, or the text is one of another version.
pub(super) fn webhooks(payload: &str) -> Option<Vec<WebhookId>> {
    payload.split(',').map(|webhook| webhook.parse().ok()).collect()
}

/// The text of a notification about webhooks.
pub(super) fn payload(webhooks: impl Iterator<Item = WebhookId>) -> String {
    let text = webhooks.map(|webhook| webhook.to_string()).collect::<Vec<_>>().join(",");
    if text.len() > MAX_PAYLOAD { ANY.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_are_read_back_unless_they_may_be_any() {
        let read = |ids: std::ops::Range<WebhookId>| webhooks(&payload(ids));
        assert_eq!(read(7..10), Some(vec![7, 8, 9]));
        assert_eq!(read(0..10_000), None, "too many for one notification");
    }

    #[test]
    fn a_text_that_is_not_understood_may_be_about_any_webhook() {
        for text in ["", "7,", "7,x", "v2:7", "-1"] {
            assert_eq!(webhooks(text), None, "{text:?}");
        }
    }
}
