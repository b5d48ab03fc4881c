use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use domain::{ClaimedDelivery, DeliveryNumber, UnixMillis, Webhook, WebhookId};
use store::LONGEST_WAIT;

use crate::{
    breaker::{self, Trust},
    clock::millis,
    egress::{Connection, Egress, SendFault, Target},
    secrets::{Secrets, Vault},
};

/// Connections to one endpoint that are kept for the next message.
const KEPT_CONNECTIONS: usize = 4;
const KEPT_FOR: Duration = Duration::from_secs(20);
/// Longer than this no receiver keeps the messages that it has not seen yet waiting.
const LONGEST_REST: Duration = Duration::from_secs(60 * 60);

/// A webhook as the dispatcher sees it.
pub(super) struct Endpoint {
    /// None where it cannot be sent to, as its URL is no good any more.
    pub(super) route: Result<Arc<Route>, Arc<SendFault>>,
    proven: bool,
    failures: u32,
    /// When the store has something to be sent, nought for now.
    pub(super) due: Option<UnixMillis>,
    /// Nothing is sent before.
    not_before: UnixMillis,
    /// What is being sent. A lease may end before its time, by a step of the clock: this does not.
    pub(super) under_way: HashSet<DeliveryNumber>,
    /// Taken on, and not sent yet.
    pub(super) claimed: VecDeque<ClaimedDelivery>,
    connections: Vec<Connection>,
    /// Deleted, or not active: it is forgotten once nothing is under way any more.
    pub(super) resting: bool,
}

/// What a message needs to be sent.
pub(super) struct Route {
    pub(super) target: Target,
    pub(super) secrets: Secrets,
}

impl Endpoint {
    pub(super) fn new(webhook: &Webhook, egress: &Egress, vault: &Vault) -> Self {
        let mut endpoint = Self {
            route: Err(Arc::new(SendFault::Secret)),
            proven: false,
            failures: 0,
            due: None,
            not_before: 0,
            under_way: HashSet::new(),
            claimed: VecDeque::new(),
            connections: Vec::new(),
            resting: false,
        };
        endpoint.renew(webhook, egress, vault);
        endpoint
    }

    /// Takes on what its owner has changed: a new start, with new connections.
    pub(super) fn renew(&mut self, webhook: &Webhook, egress: &Egress, vault: &Vault) {
        let route = || {
            let target = egress.target(&webhook.url)?;
            let secrets = vault.secrets_of(webhook).map_err(|_| SendFault::Secret)?;
            Ok::<_, SendFault>(Route { target, secrets })
        };
        self.route = route().map(Arc::new).map_err(Arc::new);
        (self.proven, self.failures, self.not_before) = (webhook.proven, webhook.fail_count, 0);
        self.connections.clear();
        self.resting = false;
    }

    pub(super) fn trust(&self) -> Trust {
        Trust::of(self.failures, self.proven)
    }

    /// Takes note of how attempts went, as the store counts them.
    pub(super) fn note(&mut self, webhook: &Webhook, now: UnixMillis, chance: f64) {
        if webhook.fail_count > 0 {
            let pause = breaker::pause(webhook.fail_count, chance);
            self.not_before = now + millis(pause);
            self.connections.clear();
        } else {
            self.not_before = 0;
        }
        (self.proven, self.failures) = (webhook.proven, webhook.fail_count);
    }

    /// Leaves the endpoint alone for a while: it asked for it.
    pub(super) fn pause(&mut self, rest: Duration, now: UnixMillis) {
        self.not_before = self.not_before.max(now + millis(rest.min(LONGEST_REST)));
    }

    /// When the next message may go out; None where there is none, or where enough are under way.
    pub(super) fn next(&mut self, now: UnixMillis) -> Option<UnixMillis> {
        if self.resting || self.under_way.len() >= self.trust().per_endpoint() {
            return None;
        }
        // Nobody is left alone for longer than that: the clock must have been set back.
        self.not_before = self.not_before.min(now.saturating_add(millis(LONGEST_REST)));
        let due = if self.claimed.is_empty() { self.due? } else { 0 };
        let due = if due > now.saturating_add(LONGEST_WAIT) { now } else { due };
        Some(due.max(self.not_before))
    }

    /// The next of those taken on that is not being sent already.
    pub(super) fn begin_next(&mut self) -> Option<ClaimedDelivery> {
        while let Some(claimed) = self.claimed.pop_front() {
            if self.under_way.insert(claimed.number) {
                return Some(claimed);
            }
        }
        None
    }

    pub(super) fn give_up_claims(&mut self) -> Vec<(WebhookId, DeliveryNumber)> {
        self.claimed.drain(..).map(|claimed| (claimed.webhook, claimed.number)).collect()
    }

    /// The connection that was used last.
    pub(super) fn take_connection(&mut self) -> Option<Connection> {
        self.drop_old_connections();
        self.connections.pop()
    }

    /// Keeps a connection, unless its owner has changed the route since it was made; says whether.
    pub(super) fn keep_connection(&mut self, connection: Connection, made_for: &Arc<Route>) -> bool {
        let same = self.route.as_ref().is_ok_and(|route| Arc::ptr_eq(route, made_for));
        let kept = same && self.connections.len() < KEPT_CONNECTIONS;
        if kept {
            self.connections.push(connection);
        }
        kept
    }

    pub(super) fn drop_old_connections(&mut self) -> usize {
        self.connections.retain(|connection| connection.is_open() && connection.last_used.elapsed() < KEPT_FOR);
        self.connections.len()
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, Bytes, DeliveryId, EventKind, EventKinds, SealedSecret};

    use super::*;
    use crate::{EgressConfig, Insecure};

    fn webhook() -> Webhook {
        Webhook {
            id: 1,
            owner: Address::ZERO,
            url: "https://receiver.example/".to_owned(),
            watched: Address::ZERO,
            events: EventKinds::default().with(EventKind::Tx),
            active: true,
            created_at: 0,
            after: None,
            secret: SealedSecret::new(vec![1]),
            retired_secrets: Vec::new(),
            last_triggered_at: None,
            fail_count: 0,
            failing_since: None,
            proven: true,
        }
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
    async fn what_is_under_way_is_not_begun_again_though_its_lease_has_ended() {
        let mut endpoint = endpoint();
        endpoint.claimed.extend([claimed(7), claimed(8)]);
        assert_eq!(endpoint.begin_next().map(|begun| begun.number), Some(7));
        // The clock was set forward, and the store believes that nobody works on it any more.
        endpoint.claimed.push_front(claimed(7));
        assert_eq!(endpoint.begin_next().map(|begun| begun.number), Some(8));
        endpoint.claimed.push_front(claimed(7));
        assert!(endpoint.begin_next().is_none());
        endpoint.under_way.remove(&7);
        endpoint.claimed.push_front(claimed(7));
        assert_eq!(endpoint.begin_next().map(|begun| begun.number), Some(7), "over, it may be sent again");
    }

    #[tokio::test]
    async fn a_clock_set_back_leaves_nobody_alone_for_longer_than_an_hour() {
        let (mut endpoint, hour) = (endpoint(), 3_600_000);
        endpoint.due = Some(0);
        endpoint.pause(Duration::from_secs(90), 1_000 * hour);
        assert_eq!(endpoint.next(1_000 * hour), Some(1_000 * hour + 90_000));
        assert_eq!(endpoint.next(10 * hour), Some(11 * hour));
        assert_eq!(endpoint.next(10 * hour + 60_000), Some(11 * hour), "it comes nearer");
        endpoint.pause(Duration::MAX, 10 * hour);
        assert_eq!(endpoint.next(10 * hour), Some(11 * hour));
        endpoint.due = Some(30 * hour);
        assert_eq!(endpoint.next(10 * hour), Some(30 * hour), "a message may wait for a day");
        endpoint.due = Some(1_000 * hour);
        assert_eq!(endpoint.next(20 * hour), Some(20 * hour), "but not for weeks");
    }
}
