use std::{collections::VecDeque, sync::Arc, time::Duration};

use domain::{ClaimedDelivery, DeliveryNumber, UnixMillis, Webhook, WebhookId};

use crate::{
    breaker::{self, Trust},
    egress::{Connection, Egress, SendFault, Target},
    secrets::{Secrets, Vault},
};

/// Connections to one endpoint that are kept for the next message.
const KEPT_CONNECTIONS: usize = 4;
const KEPT_FOR: Duration = Duration::from_secs(20);

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
    pub(super) under_way: usize,
    /// Taken on, and not sent yet.
    pub(super) claimed: VecDeque<ClaimedDelivery>,
    connections: Vec<Connection>,
    pub(super) place: Place,
    /// Deleted, or not active: it is forgotten once nothing is under way any more.
    pub(super) resting: bool,
}

/// What a message needs to be sent.
pub(super) struct Route {
    pub(super) target: Target,
    pub(super) secrets: Secrets,
}

/// Where an endpoint waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    /// For its turn, with a ticket of its own: older tickets are worth nothing.
    Lane(Trust, u64),
    /// For a time to come.
    Timer(UnixMillis),
}

impl Endpoint {
    pub(super) fn new(webhook: &Webhook, egress: &Egress, vault: &Vault) -> Self {
        let mut endpoint = Self {
            route: Err(Arc::new(SendFault::Secret)),
            proven: false,
            failures: 0,
            due: None,
            not_before: 0,
            under_way: 0,
            claimed: VecDeque::new(),
            connections: Vec::new(),
            place: Place::Nowhere,
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
            self.not_before = now + u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            self.connections.clear();
        } else {
            self.not_before = 0;
        }
        (self.proven, self.failures) = (webhook.proven, webhook.fail_count);
    }

    /// Leaves the endpoint alone for a while: it asked for it.
    pub(super) fn pause(&mut self, until: UnixMillis) {
        self.not_before = self.not_before.max(until);
    }

    /// When the next message may go out; None where there is none, or where enough are under way.
    pub(super) fn next(&self) -> Option<UnixMillis> {
        if self.resting || self.under_way >= self.trust().per_endpoint() {
            return None;
        }
        let due = if self.claimed.is_empty() { self.due? } else { 0 };
        Some(due.max(self.not_before))
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
