use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use domain::{ClaimedDelivery, DeliveryNumber, UnixMillis, Webhook, WebhookId};
use egress::{Connection, ConnectionFault, Egress};
use store::MAX_WAIT;
use tokio::time::Instant;

use super::{route::Route, send::SendFault};
use crate::{
    breaker::{self, Trust},
    clock::millis,
    secrets::Vault,
};

/// Maximum idle connections per endpoint.
const MAX_IDLE_CONNECTIONS: usize = 4;
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest pause that Retry-After can impose on an endpoint.
const MAX_PAUSE: Duration = Duration::from_secs(60 * 60);
/// A receiver that fails now and then is logged at most this often.
const LOG_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The dispatcher's state of one webhook.
pub(super) struct Endpoint {
    /// An error if the URL is no longer allowed or the secret cannot be decrypted.
    pub(super) route: Result<Arc<Route>, Arc<SendFault>>,
    proven: bool,
    failures: u32,
    /// When the next queued message is due; 0 means now.
    pub(super) due: Option<UnixMillis>,
    /// No message is sent before this time.
    not_before: UnixMillis,
    /// Messages being sent. Unlike a lease, this does not depend on the clock.
    pub(super) in_flight: HashSet<DeliveryNumber>,
    /// Claimed, but not sent yet.
    pub(super) claimed: VecDeque<ClaimedDelivery>,
    connections: Vec<Connection>,
    /// When its failure was logged, until it works again.
    failure_logged_at: Option<Instant>,
    /// Deleted, not active, or sent by another process: removed when nothing is in flight.
    pub(super) disabled: bool,
}

impl Endpoint {
    pub(super) fn new(webhook: &Webhook, egress: &Egress, vault: &Vault) -> Self {
        let mut endpoint = Self {
            route: Err(Arc::new(SendFault::Secret)),
            proven: false,
            failures: 0,
            due: None,
            not_before: 0,
            in_flight: HashSet::new(),
            claimed: VecDeque::new(),
            connections: Vec::new(),
            failure_logged_at: None,
            disabled: false,
        };
        endpoint.reload(webhook, egress, vault);
        endpoint
    }

    /// Applies the owner's changes: resets the breaker and closes connections.
    pub(super) fn reload(&mut self, webhook: &Webhook, egress: &Egress, vault: &Vault) {
        let route = || {
            let target = egress.target(&webhook.url).map_err(ConnectionFault::from)?;
            let secrets = vault.secrets_of(webhook).map_err(|_| SendFault::Secret)?;
            Ok::<_, SendFault>(Route { target, secrets })
        };
        self.route = route().map(Arc::new).map_err(Arc::new);
        (self.proven, self.failures, self.not_before) = (webhook.proven, webhook.fail_count, 0);
        self.connections.clear();
        self.failure_logged_at = None;
        self.disabled = false;
    }

    /// Whether to log the result of an attempt: only the first of several failures is logged.
    pub(super) fn should_log_failure(&mut self, has_failed: bool, now: Instant) -> bool {
        match (has_failed, self.failure_logged_at) {
            (true, None) => {
                self.failure_logged_at = Some(now);
                return true;
            }
            (false, Some(at)) if now.duration_since(at) >= LOG_INTERVAL => self.failure_logged_at = None,
            (true, Some(_)) | (false, _) => {}
        }
        false
    }

    pub(super) fn trust(&self) -> Trust {
        Trust::of(self.failures, self.proven)
    }

    /// Updates the breaker with the failure count from the store.
    pub(super) fn update_breaker(&mut self, webhook: &Webhook, now: UnixMillis, chance: f64) {
        if webhook.fail_count > 0 {
            let pause = breaker::pause(webhook.fail_count, chance);
            self.not_before = now + millis(pause);
            self.connections.clear();
        } else {
            self.not_before = 0;
        }
        (self.proven, self.failures) = (webhook.proven, webhook.fail_count);
    }

    /// Pauses the endpoint for the time requested with Retry-After.
    pub(super) fn pause(&mut self, pause: Duration, now: UnixMillis) {
        self.not_before = self.not_before.max(now + millis(pause.min(MAX_PAUSE)));
    }

    /// When the next message may be sent; None if there is none, or if enough are in flight.
    pub(super) fn next(&mut self, now: UnixMillis) -> Option<UnixMillis> {
        if self.disabled || self.in_flight.len() >= self.trust().per_endpoint() {
            return None;
        }
        // A later time means that the clock was set back.
        self.not_before = self.not_before.min(now.saturating_add(millis(MAX_PAUSE)));
        let due = if self.claimed.is_empty() { self.due? } else { 0 };
        let due = if due > now.saturating_add(MAX_WAIT) { now } else { due };
        Some(due.max(self.not_before))
    }

    /// The next claimed message that is not in flight already.
    pub(super) fn begin_next(&mut self) -> Option<ClaimedDelivery> {
        while let Some(claimed) = self.claimed.pop_front() {
            if self.in_flight.insert(claimed.number) {
                return Some(claimed);
            }
        }
        None
    }

    pub(super) fn take_claims(&mut self) -> Vec<(WebhookId, DeliveryNumber)> {
        self.claimed.drain(..).map(|claimed| (claimed.webhook, claimed.number)).collect()
    }

    /// The most recently used idle connection.
    pub(super) fn take_connection(&mut self) -> Option<Connection> {
        self.drop_expired_connections();
        self.connections.pop()
    }

    /// Pools an idle connection for reuse, unless the route has changed since it was opened. Returns whether it was pooled.
    pub(super) fn pool_connection(&mut self, connection: Connection, opened_for: &Arc<Route>) -> bool {
        let same = self.route.as_ref().is_ok_and(|route| Arc::ptr_eq(route, opened_for));
        let pooled = same && self.connections.len() < MAX_IDLE_CONNECTIONS;
        if pooled {
            self.connections.push(connection);
        }
        pooled
    }

    pub(super) fn drop_expired_connections(&mut self) -> usize {
        self.connections.retain(|connection| connection.is_open() && connection.last_used.elapsed() < IDLE_TIMEOUT);
        self.connections.len()
    }
}

#[cfg(test)]
mod tests {
    use domain::{Bytes, DeliveryId, EventKind, NewWebhook};
    use egress::{EgressConfig, Insecure};

    use super::*;

    fn webhook() -> Webhook {
        Webhook { proven: true, ..NewWebhook::sample().stored_as(1, None) }
    }

    fn endpoint() -> Endpoint {
        let dns_server = Some("127.0.0.1:9".parse().unwrap());
        let config = EgressConfig { insecure: Insecure::Refused, dns_server, ..EgressConfig::default() };
        let vault = Vault::new(&"ab".repeat(32).parse().unwrap()).unwrap();
        Endpoint::new(&webhook(), &Egress::new(&config).unwrap(), &vault)
    }

    fn claimed(number: DeliveryNumber) -> ClaimedDelivery {
        let (id, kind, body) = (DeliveryId::new([0; 16]), EventKind::Tx, Bytes::new());
        let dropped = domain::DropCount::default();
        ClaimedDelivery { webhook: 1, number, id, kind, body, created_at: 0, attempt_count: 0, dropped }
    }

    #[tokio::test]
    async fn a_message_in_flight_is_not_sent_again_when_its_lease_expires() {
        let mut endpoint = endpoint();
        endpoint.claimed.extend([claimed(7), claimed(8)]);
        assert_eq!(endpoint.begin_next().map(|delivery| delivery.number), Some(7));
        // The clock was set forward, so the store considers the lease expired.
        endpoint.claimed.push_front(claimed(7));
        assert_eq!(endpoint.begin_next().map(|delivery| delivery.number), Some(8));
        endpoint.claimed.push_front(claimed(7));
        assert!(endpoint.begin_next().is_none());
        endpoint.in_flight.remove(&7);
        endpoint.claimed.push_front(claimed(7));
        assert_eq!(
            endpoint.begin_next().map(|delivery| delivery.number),
            Some(7),
            "it can be sent again once it has ended"
        );
    }

    #[tokio::test]
    async fn a_failure_is_logged_once_and_again_after_an_hour_if_it_worked_meanwhile() {
        let (mut endpoint, start) = (endpoint(), Instant::now());
        let mut at = |minutes: u64, has_failed| {
            endpoint.should_log_failure(has_failed, start + Duration::from_secs(60 * minutes))
        };
        assert!(!at(0, false) && at(1, true) && !at(2, true), "the first failure");
        assert!(!at(3, false) && !at(4, true), "it fails now and then");
        assert!(!at(90, true), "it still fails");
        assert!(!at(91, false) && at(92, true), "it worked, and fails again");
    }

    #[tokio::test]
    async fn a_clock_set_back_pauses_an_endpoint_for_at_most_an_hour() {
        let (mut endpoint, hour) = (endpoint(), 3_600_000);
        endpoint.due = Some(0);
        endpoint.pause(Duration::from_secs(90), 1_000 * hour);
        assert_eq!(endpoint.next(1_000 * hour), Some(1_000 * hour + 90_000));
        assert_eq!(endpoint.next(10 * hour), Some(11 * hour));
        assert_eq!(endpoint.next(10 * hour + 60_000), Some(11 * hour), "the pause does not move");
        endpoint.pause(Duration::MAX, 10 * hour);
        assert_eq!(endpoint.next(10 * hour), Some(11 * hour));
        endpoint.due = Some(30 * hour);
        assert_eq!(endpoint.next(10 * hour), Some(30 * hour), "a message may wait for a day");
        endpoint.due = Some(1_000 * hour);
        assert_eq!(endpoint.next(20 * hour), Some(20 * hour), "but not for weeks");
    }
}
