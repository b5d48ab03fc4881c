use std::fmt;

use alloy_primitives::Address;

use crate::{BlockRef, EventKind, EventKinds, UnixMillis};

/// The sequence number of a webhook, from 1.
pub type WebhookId = u64;

/// A webhook is deactivated after this many consecutive failures ...
const FAILURES_BEFORE_DEACTIVATION: u32 = 20;
/// ... over at least this time.
const FAILING_TIME_BEFORE_DEACTIVATION: UnixMillis = 72 * 60 * 60 * 1_000;
/// Retired secrets that stay valid, for owners that rotate several times within the grace period.
const MAX_RETIRED_SECRETS: usize = 8;

/// A subscription to the events of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub owner: Address,
    pub url: String,
    pub watched: Address,
    pub events: EventKinds,
    /// Whether messages are sent. While inactive, they stay queued.
    pub active: bool,
    pub created_at: UnixMillis,
    /// The latest indexed block when the webhook was created; only later events match. None if the index was empty.
    pub after: Option<BlockRef>,
    pub secret: SealedSecret,
    /// Earlier secrets that are still used for signatures until a time, newest first.
    pub retired_secrets: Vec<RetiredSecret>,
    /// When the last attempt ended, with any outcome.
    pub last_triggered_at: Option<UnixMillis>,
    /// Failed attempts since the last success.
    pub fail_count: u32,
    /// The time of the first failure since the last success or reactivation.
    pub failing_since: Option<UnixMillis>,
    /// Whether an attempt ever succeeded.
    pub proven: bool,
}

/// A webhook to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    pub owner: Address,
    pub url: String,
    pub watched: Address,
    pub events: EventKinds,
    pub secret: SealedSecret,
    pub created_at: UnixMillis,
}

impl NewWebhook {
    /// The webhook as it is stored under an id, given the latest indexed block.
    #[must_use]
    pub fn stored_as(self, id: WebhookId, after: Option<BlockRef>) -> Webhook {
        Webhook {
            id,
            owner: self.owner,
            url: self.url,
            watched: self.watched,
            events: self.events,
            active: true,
            created_at: self.created_at,
            after,
            secret: self.secret,
            retired_secrets: Vec::new(),
            last_triggered_at: None,
            fail_count: 0,
            failing_since: None,
            proven: false,
        }
    }

    /// For tests.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            owner: Address::ZERO,
            url: "https://receiver.example/".to_owned(),
            watched: Address::ZERO,
            events: EventKinds::default().with(EventKind::Tx),
            secret: SealedSecret::new(vec![1]),
            created_at: 0,
        }
    }
}

/// Changes to a webhook. None means unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebhookChange {
    pub active: Option<bool>,
    pub url: Option<String>,
    pub events: Option<EventKinds>,
}

/// The effect of an attempt on its webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptEffect {
    Succeeded,
    Failed,
    /// The receiver responded with 410 Gone.
    Gone,
}

impl Webhook {
    /// Records an attempt; may deactivate the webhook.
    pub fn note(&mut self, effect: AttemptEffect, at: UnixMillis) {
        self.last_triggered_at = Some(self.last_triggered_at.unwrap_or_default().max(at));
        if effect == AttemptEffect::Succeeded {
            (self.fail_count, self.failing_since, self.proven) = (0, None, true);
            return;
        }
        self.fail_count = self.fail_count.saturating_add(1);
        let since = *self.failing_since.get_or_insert(at);
        let expired = self.fail_count >= FAILURES_BEFORE_DEACTIVATION
            && at.saturating_sub(since) >= FAILING_TIME_BEFORE_DEACTIVATION;
        if expired || effect == AttemptEffect::Gone {
            self.active = false;
        }
    }

    pub fn change(&mut self, change: WebhookChange) {
        if let Some(active) = change.active {
            if active && !self.active {
                // Reactivation restarts the 72 hours.
                self.failing_since = None;
            }
            self.active = active;
        }
        if let Some(url) = change.url {
            self.url = url;
            self.proven = false;
        }
        if let Some(events) = change.events {
            self.events = events;
        }
    }

    /// Replaces the secret; the old one stays valid for a while.
    pub fn rotate(&mut self, secret: SealedSecret, old_until: UnixMillis) {
        let old = std::mem::replace(&mut self.secret, secret);
        self.retired_secrets.insert(0, RetiredSecret { secret: old, until: old_until });
        self.retired_secrets.truncate(MAX_RETIRED_SECRETS);
    }
}

/// A secret encrypted with the service's key.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecret(Vec<u8>);

impl SealedSecret {
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SealedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealedSecret(redacted)")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetiredSecret {
    pub secret: SealedSecret,
    pub until: UnixMillis,
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: UnixMillis = 3_600_000;

    fn webhook() -> Webhook {
        NewWebhook::sample().stored_as(1, None)
    }

    #[test]
    fn a_success_resets_the_failure_count() {
        let mut hook = webhook();
        hook.note(AttemptEffect::Failed, 5);
        hook.note(AttemptEffect::Failed, 9);
        assert_eq!((hook.fail_count, hook.failing_since, hook.last_triggered_at), (2, Some(5), Some(9)));
        hook.note(AttemptEffect::Succeeded, 12);
        assert_eq!((hook.fail_count, hook.failing_since, hook.last_triggered_at), (0, None, Some(12)));
        assert!(hook.active && hook.proven);
    }

    #[test]
    fn a_webhook_is_deactivated_after_twenty_failures_over_72_hours() {
        let mut quick = webhook();
        (0..500).for_each(|minute| quick.note(AttemptEffect::Failed, minute * 60_000));
        assert!(quick.active, "the outage lasted only a few hours");

        let mut rare = webhook();
        (0..19).for_each(|day| rare.note(AttemptEffect::Failed, day * 24 * HOUR));
        assert!(rare.active, "only nineteen failures");
        rare.note(AttemptEffect::Failed, 19 * 24 * HOUR);
        assert!(!rare.active);
        assert_eq!(rare.fail_count, 20);
    }

    #[test]
    fn gone_deactivates_immediately_and_reactivation_restarts_the_72_hours() {
        let mut hook = webhook();
        hook.note(AttemptEffect::Gone, 1);
        assert!(!hook.active);
        hook.change(WebhookChange { active: Some(true), ..WebhookChange::default() });
        assert!(hook.active);
        (0..30).for_each(|_| hook.note(AttemptEffect::Failed, 100 * HOUR));
        assert!(hook.active, "31 failures, but the 72 hours count from the reactivation");
    }

    #[test]
    fn rotated_secrets_stay_valid_and_are_redacted() {
        let mut hook = webhook();
        hook.rotate(SealedSecret::new(vec![2]), 7);
        hook.rotate(SealedSecret::new(vec![3]), 9);
        let retired = |hook: &Webhook| -> Vec<(Vec<u8>, UnixMillis)> {
            hook.retired_secrets.iter().map(|old| (old.secret.as_bytes().to_vec(), old.until)).collect()
        };
        assert_eq!(hook.secret.as_bytes(), [3]);
        assert_eq!(retired(&hook), [(vec![2], 9), (vec![1], 7)], "both old secrets stay valid");
        (4..40).for_each(|secret| hook.rotate(SealedSecret::new(vec![secret]), 11));
        assert_eq!(retired(&hook).len(), 8);
        assert!(format!("{hook:?}").contains("SealedSecret(redacted)"));
    }
}
