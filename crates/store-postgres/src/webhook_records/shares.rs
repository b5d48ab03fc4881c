//! Which process sends the messages of which webhook.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use domain::WebhookId;

/// A process without a heartbeat for this long may lose its queues.
pub(super) const SENDER_TIMEOUT: Duration = Duration::from_secs(8);
/// It stops sending earlier than that: a message takes some time to leave.
const SEND_WINDOW: Duration = Duration::from_secs(6);

/// What this process knows about those that send.
#[derive(Debug)]
pub(super) struct Shares {
    token: i64,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// The processes that send, this one included, in order.
    senders: Vec<i64>,
    /// When the last heartbeat that succeeded was begun.
    beaten_at: Option<Instant>,
    has_left: bool,
}

/// The effect of a heartbeat.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeartbeatEffect {
    /// Whether the queues of this process may be others than before.
    pub(super) is_reassigned: bool,
    /// Whether more or fewer processes send than before.
    pub(super) is_other_count: bool,
}

impl Shares {
    pub(super) fn new(token: i64) -> Self {
        Self { token, known: Mutex::default() }
    }

    pub(super) fn token(&self) -> i64 {
        self.token
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a heartbeat and those that send.
    pub(super) fn note(&self, begun: Instant, senders: Vec<i64>) -> HeartbeatEffect {
        let mut known = self.known();
        let had_lapsed = known.beaten_at.is_none_or(|at| begun.saturating_duration_since(at) >= SEND_WINDOW);
        let is_other_count = known.senders.len() != senders.len();
        let is_reassigned = had_lapsed || known.senders != senders;
        known.senders = senders;
        known.beaten_at = Some(begun);
        HeartbeatEffect { is_reassigned, is_other_count }
    }

    /// The process ends, and takes no queue any more.
    pub(super) fn leave(&self) {
        self.known().has_left = true;
    }

    pub(super) fn has_left(&self) -> bool {
        self.known().has_left
    }

    /// Whether this process is to send the messages of a webhook, among those that send now.
    pub(super) fn is_assigned(&self, webhook: WebhookId) -> bool {
        let known = self.known();
        !known.has_left && assigned(webhook, &known.senders) == Some(self.token)
    }

    /// Whether it may send them at this moment: no other process can have taken them.
    pub(super) fn may_send(&self, webhook: WebhookId, now: Instant) -> bool {
        let is_alive = self.known().beaten_at.is_some_and(|at| now.saturating_duration_since(at) < SEND_WINDOW);
        is_alive && self.is_assigned(webhook)
    }
}

/// The sender with the highest hash for the webhook: when one comes or goes, only its own queues move.
fn assigned(webhook: WebhookId, senders: &[i64]) -> Option<i64> {
    senders.iter().copied().max_by_key(|sender| (mix(webhook ^ mix(sender.cast_unsigned())), *sender))
}

/// A hash that is the same in every process: the finalizer of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_spread_and_only_those_of_a_lost_sender_move() {
        let senders = [-7, 1, 2, 40];
        let before: Vec<Option<i64>> = (0..10_000).map(|webhook| assigned(webhook, &senders)).collect();
        for sender in senders {
            let share = before.iter().filter(|owner| **owner == Some(sender)).count();
            assert!((2_200..2_800).contains(&share), "{sender} has {share}");
        }
        for (webhook, owner) in (0..).zip(before) {
            let after = assigned(webhook, &[-7, 2, 40]);
            assert!(owner == Some(1) || after == owner, "{webhook} moved from {owner:?} to {after:?}");
            assert_ne!(after, Some(1));
        }
        assert_eq!(assigned(1, &[]), None);
    }

    #[test]
    fn a_process_without_a_recent_heartbeat_sends_nothing() {
        let (shares, start) = (Shares::new(5), Instant::now());
        assert!(!shares.may_send(1, start), "before the first heartbeat");
        assert!(shares.note(start, vec![5]).is_reassigned);
        assert!(shares.may_send(1, start + Duration::from_secs(5)));
        assert!(!shares.may_send(1, start + Duration::from_secs(6)));
        assert!(!shares.note(start + Duration::from_secs(2), vec![5]).is_reassigned);
        assert!(shares.may_send(1, start + Duration::from_secs(6)));
        assert!(
            shares.note(start + Duration::from_secs(9), vec![5]).is_reassigned,
            "another one may have taken its queues"
        );
        shares.leave();
        assert!(!shares.may_send(1, start + Duration::from_secs(9)));
    }
}
