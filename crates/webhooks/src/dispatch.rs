//! Sends queued messages, with bounded concurrency and fair scheduling over endpoints.
//!
//! One task owns all state. It assigns slots to endpoints and records the results of attempts in batches. [`schedule`]
//! decides who sends next and [`slots`] how many; both are pure, without clock or sockets.

mod endpoint;
mod metrics;
mod route;
mod schedule;
mod send;
mod slots;

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{DeliveryNumber, UnixMillis, WebhookId};
use egress::Egress;
use futures::future::BoxFuture;
use rand::{Rng, SeedableRng, rngs::StdRng};
use store::{StoreError, WebhookRecords};
use tokio::{
    task::{self, JoinSet},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use self::{
    endpoint::Endpoint,
    schedule::Schedule,
    send::Sent,
    slots::{SlotId, Slots},
};
pub use self::{metrics::DeliveryMetrics, send::ATTEMPT_TIMEOUT, slots::MAX_PARKED};
use crate::{
    Vault, Wake,
    breaker::Trust,
    clock::{self, millis},
    wake::Changes,
};

/// Messages claimed at once for a proven endpoint.
const CLAIM_BATCH: usize = 16;
/// Three times as long as the messages of a claim take if each attempt takes as long as it may.
const LEASE: Duration =
    Duration::from_secs(3 * ATTEMPT_TIMEOUT.as_secs() * (CLAIM_BATCH / Trust::Proven.per_endpoint()) as u64);
/// All queues are scanned at this interval, in case a wake-up was missed.
const SCAN_INTERVAL: Duration = Duration::from_secs(30);
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// For messages in flight at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum idle connections over all endpoints.
const MAX_IDLE_CONNECTIONS: usize = 512;

pub struct Dispatcher {
    records: Arc<dyn WebhookRecords>,
    egress: Arc<Egress>,
    vault: Vault,
    wake: Wake,
    endpoints: HashMap<WebhookId, Endpoint>,
    schedule: Schedule,
    slots: Slots,
    sending: JoinSet<Sent>,
    /// The message of each task, needed if the task panics.
    tasks: HashMap<task::Id, InFlight>,
    idle_connections: usize,
    scanned_at: Option<Instant>,
    leases_released: bool,
    metrics: Arc<DeliveryMetrics>,
    /// For the jitter between attempts.
    rng: StdRng,
}

/// A message in flight.
struct InFlight {
    slot: SlotId,
    webhook: WebhookId,
    number: DeliveryNumber,
}

/// How a task ended.
type Ended = Result<(task::Id, Sent), task::JoinError>;

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").field("endpoints", &self.endpoints.len()).finish_non_exhaustive()
    }
}

impl Dispatcher {
    /// `max_parked` bounds the messages that wait for slow receivers; [`MAX_PARKED`] is a good default.
    #[must_use]
    pub fn new(
        records: Arc<dyn WebhookRecords>,
        egress: Arc<Egress>,
        vault: Vault,
        wake: Wake,
        max_parked: usize,
    ) -> Self {
        Self {
            records,
            egress,
            vault,
            wake,
            endpoints: HashMap::new(),
            schedule: Schedule::default(),
            slots: Slots::new(max_parked),
            sending: JoinSet::new(),
            tasks: HashMap::new(),
            idle_connections: 0,
            scanned_at: None,
            leases_released: false,
            metrics: Arc::default(),
            rng: StdRng::from_rng(&mut rand::rng()),
        }
    }

    /// Counts attempts together with the dispatchers that ran before this one.
    #[must_use]
    pub fn with_metrics(self, metrics: Arc<DeliveryMetrics>) -> Self {
        Self { metrics, ..self }
    }

    /// Makes the jitter deterministic, for simulations.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), ..self }
    }

    /// Sends until cancelled. Messages in flight then get a short time to finish; the rest is sent after the next start.
    pub fn run(mut self, cancel: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            while !cancel.is_cancelled() {
                if let Err(error) = self.run_once(&cancel).await {
                    tracing::warn!(%error, "cannot read or write webhook queues; retrying");
                    cancel.run_until_cancelled(tokio::time::sleep(RETRY_PAUSE)).await;
                }
            }
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, async {
                while let Some(ended) = self.sending.join_next_with_id().await {
                    self.record_ended(vec![ended]).await?;
                }
                Ok::<_, StoreError>(())
            })
            .await;
        })
    }

    /// Releases the claims of a dispatcher that crashed.
    async fn release_old_leases(&mut self) -> Result<(), StoreError> {
        if !self.leases_released {
            self.records.end_leases().await?;
            self.leases_released = true;
        }
        Ok(())
    }

    async fn run_once(&mut self, cancel: &CancellationToken) -> Result<(), StoreError> {
        self.release_old_leases().await?;
        if self.scanned_at.is_none_or(|at| at.elapsed() >= SCAN_INTERVAL) {
            self.scan_queues().await?;
            self.scanned_at = Some(Instant::now());
        }
        self.apply_changes().await?;
        let now = clock::now();
        for id in self.schedule.take_due(now) {
            self.reschedule(id, now);
        }
        let until_parked = self.fill_slots().await?;
        let until_due =
            self.schedule.next_timer().map(|due| Duration::from_millis(due.saturating_sub(clock::now()).max(1)));
        let timeout = [until_parked, until_due].into_iter().flatten().min().unwrap_or(SCAN_INTERVAL).min(SCAN_INTERVAL);
        let wake = self.wake.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(()),
            Some(ended) = self.sending.join_next_with_id() => {
                let mut all = vec![ended];
                while let Some(ended) = self.sending.try_join_next_with_id() {
                    all.push(ended);
                }
                self.record_ended(all).await
            }
            () = wake.notified() => Ok(()),
            () = tokio::time::sleep(timeout) => Ok(()),
        }
    }

    /// Schedules every queue that is not empty.
    async fn scan_queues(&mut self) -> Result<(), StoreError> {
        for head in self.records.list_queues().await? {
            self.set_due(head.webhook, Some(head.due)).await?;
        }
        self.endpoints.retain(|_, endpoint| !endpoint.disabled || !endpoint.in_flight.is_empty());
        self.idle_connections = self.endpoints.values_mut().map(Endpoint::drop_expired_connections).sum();
        Ok(())
    }

    /// Releases what was claimed of queues that another process is to send from now on.
    async fn hand_over_queues(&mut self) -> Result<(), StoreError> {
        let reassigned: Vec<WebhookId> =
            self.endpoints.keys().copied().filter(|id| !self.records.may_send(*id)).collect();
        for id in reassigned {
            self.hand_over(id).await?;
        }
        Ok(())
    }

    async fn hand_over(&mut self, id: WebhookId) -> Result<(), StoreError> {
        self.disable(id);
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return Ok(()) };
        self.records.release(endpoint.take_claims()).await
    }

    async fn apply_changes(&mut self) -> Result<(), StoreError> {
        let mut changes = self.wake.take();
        let applied = self.apply(&mut changes).await;
        // Unprocessed changes must be kept: they are not announced again.
        self.wake.restore(changes);
        applied
    }

    async fn apply(&mut self, changes: &mut Changes) -> Result<(), StoreError> {
        if changes.reassigned {
            self.hand_over_queues().await?;
            self.scan_queues().await?;
            changes.reassigned = false;
        }
        while let Some(id) = changes.changed.iter().next().copied() {
            self.reload(id).await?;
            changes.changed.remove(&id);
        }
        while let Some(id) = changes.queued.iter().next().copied() {
            if self.records.may_send(id) {
                self.set_due(id, Some(0)).await?;
            }
            changes.queued.remove(&id);
        }
        Ok(())
    }

    /// Reloads a webhook that its owner has changed.
    async fn reload(&mut self, id: WebhookId) -> Result<(), StoreError> {
        let webhook = self.records.find_webhook(id).await?.filter(|webhook| webhook.active);
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            let claims = endpoint.take_claims();
            self.records.release(claims).await?;
        }
        let Some(webhook) = webhook.filter(|_| self.records.may_send(id)) else {
            self.disable(id);
            return Ok(());
        };
        let due = self.records.find_due(id).await?;
        let endpoint = self.endpoints.entry(id).or_insert_with(|| Endpoint::new(&webhook, &self.egress, &self.vault));
        endpoint.reload(&webhook, &self.egress, &self.vault);
        endpoint.due = due;
        self.reschedule(id, clock::now());
        Ok(())
    }

    async fn set_due(&mut self, id: WebhookId, due: Option<UnixMillis>) -> Result<(), StoreError> {
        if self.endpoints.get(&id).is_none_or(|endpoint| endpoint.disabled) {
            let Some(webhook) = self.records.find_webhook(id).await?.filter(|webhook| webhook.active) else {
                return Ok(());
            };
            match self.endpoints.get_mut(&id) {
                Some(endpoint) => endpoint.reload(&webhook, &self.egress, &self.vault),
                None => drop(self.endpoints.insert(id, Endpoint::new(&webhook, &self.egress, &self.vault))),
            }
        }
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            endpoint.due = due;
        }
        self.reschedule(id, clock::now());
        Ok(())
    }

    fn disable(&mut self, id: WebhookId) {
        self.schedule.remove(id);
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            endpoint.disabled = true;
        }
    }

    /// Puts an endpoint into a lane or on a timer, or removes it from the schedule.
    fn reschedule(&mut self, id: WebhookId, now: UnixMillis) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        match endpoint.next(now) {
            Some(at) => self.schedule.enqueue(id, endpoint.trust(), at, now),
            None => self.schedule.remove(id),
        }
    }

    /// Sends while there are free slots and ready endpoints. If endpoints still wait, returns when the next slot is free at
    /// the latest.
    async fn fill_slots(&mut self) -> Result<Option<Duration>, StoreError> {
        self.slots.park_slow(Instant::now());
        while let Some((trust, id)) = self.schedule.next(|trust| self.slots.is_free(trust)) {
            if let Err(error) = self.send_one(trust, id).await {
                self.reschedule(id, clock::now());
                return Err(error);
            }
        }
        Ok(self.slots.park_slow(Instant::now()).filter(|_| self.schedule.has_ready()))
    }

    async fn send_one(&mut self, trust: Trust, id: WebhookId) -> Result<(), StoreError> {
        // The queue may have been reassigned since the claim: the process may have been suspended.
        if !self.records.may_send(id) {
            return self.hand_over(id).await;
        }
        let now = clock::now();
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return Ok(()) };
        if endpoint.claimed.is_empty() {
            let limit = if trust == Trust::Proven { CLAIM_BATCH } else { 1 };
            let claimed = self.records.claim(id, limit, now, now + millis(LEASE)).await?;
            // Recording the attempts in flight returns whether more are queued.
            endpoint.due = if claimed.len() == limit { Some(0) } else { None };
            if claimed.is_empty() && endpoint.in_flight.is_empty() {
                endpoint.due = self.records.find_due(id).await?.filter(|due| *due > now);
            }
            endpoint.claimed.extend(claimed);
        }
        // What the owner changed before a message was queued applies to it, also if both happened since the last check.
        if self.wake.take_changed(id) {
            let reloaded = self.reload(id).await;
            if reloaded.is_err() {
                self.wake.changed(id);
            }
            return reloaded;
        }
        if let Some(delivery) = endpoint.begin_next() {
            let connection = endpoint.take_connection();
            if connection.is_some() {
                self.idle_connections = self.idle_connections.saturating_sub(1);
            }
            let slot = self.slots.acquire(trust, Instant::now());
            let (egress, route) = (Arc::clone(&self.egress), endpoint.route.clone());
            let (number, chance) = (delivery.number, self.rng.random());
            let task = self.sending.spawn(send::attempt(egress, route, connection, delivery, chance));
            self.tasks.insert(task.id(), InFlight { slot, webhook: id, number });
        }
        self.reschedule(id, now);
        Ok(())
    }

    /// Records finished attempts and reschedules their endpoints.
    async fn record_ended(&mut self, ended: Vec<Ended>) -> Result<(), StoreError> {
        let (mut reports, mut pauses) = (Vec::new(), Vec::new());
        for ended in ended {
            let (task, sent) = match ended {
                Ok((task, sent)) => (task, Some(sent)),
                Err(stopped) => (stopped.id(), None),
            };
            let Some(InFlight { slot, webhook, number }) = self.tasks.remove(&task) else { continue };
            self.slots.release(slot);
            let endpoint = self.endpoints.get_mut(&webhook);
            let Some(sent) = sent else {
                // One message must not stop all others. It is retried when its lease expires.
                tracing::error!(webhook, number, "a webhook attempt panicked");
                if let Some(endpoint) = endpoint {
                    endpoint.in_flight.remove(&number);
                }
                continue;
            };
            if let Some(endpoint) = endpoint {
                endpoint.in_flight.remove(&number);
                if endpoint.should_log_failure(sent.fault.is_some(), Instant::now())
                    && let Some(fault) = &sent.fault
                {
                    let error: &dyn std::error::Error = fault.as_ref();
                    tracing::info!(webhook, error, "webhook attempt failed; not logged again while it fails");
                }
                if let Some((connection, route)) = sent.connection
                    && self.idle_connections < MAX_IDLE_CONNECTIONS
                    && endpoint.pool_connection(connection, &route)
                {
                    self.idle_connections += 1;
                }
            }
            pauses.extend(sent.pause.map(|pause| (sent.report.webhook, pause)));
            self.metrics.record(&sent.report);
            reports.push(sent.report);
        }
        let states = self.record_attempts(reports).await?;
        let now = clock::now();
        for state in states {
            let id = state.webhook.id;
            let Some(endpoint) = self.endpoints.get_mut(&id) else { continue };
            endpoint.update_breaker(&state.webhook, now, self.rng.random());
            endpoint.due = state.due;
            let mut claims = Vec::new();
            if endpoint.trust() != Trust::Proven {
                claims = endpoint.take_claims();
                if !claims.is_empty() {
                    endpoint.due = Some(0);
                }
            }
            for (_, pause) in pauses.iter().filter(|(webhook, _)| *webhook == id) {
                endpoint.pause(*pause, now);
            }
            if !state.webhook.active {
                tracing::info!(
                    webhook = id,
                    failures = state.webhook.fail_count,
                    "webhook is no longer active; sending stopped"
                );
                self.disable(id);
            }
            if !claims.is_empty() {
                self.records.release(claims).await?;
            }
            self.reschedule(id, now);
        }
        Ok(())
    }

    /// Retries a few times: a message whose attempt is not recorded is sent again.
    async fn record_attempts(&self, reports: Vec<domain::AttemptReport>) -> Result<Vec<store::QueueState>, StoreError> {
        let mut tries = 0;
        loop {
            match self.records.record_attempts(reports.clone()).await {
                Ok(states) => return Ok(states),
                Err(error) if tries < 3 => {
                    tracing::warn!(%error, "cannot record webhook attempts; retrying");
                    tries += 1;
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, EventKind, EventKinds};
    use egress::{EgressConfig, Insecure};
    use store_embedded::{EmbeddedStore, StoreOptions};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;
    use crate::{EncryptionKey, Registration, Registry};

    #[tokio::test]
    async fn a_secret_rotated_while_the_dispatcher_reloads_signs_what_is_queued_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let records: Arc<dyn WebhookRecords> = Arc::new(store.webhook_records());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = EgressConfig { insecure: Insecure::Allowed, ports: Some(vec![port]), ..EgressConfig::default() };
        let egress = Arc::new(Egress::new(&config).unwrap());
        let vault = Vault::new(&"11".repeat(32).parse::<EncryptionKey>().unwrap()).unwrap();
        let wake = Wake::default();
        let registry = Registry::new(Arc::clone(&records), Arc::clone(&egress), vault.clone(), wake.clone());
        let registration = Registration {
            owner: Address::repeat_byte(1),
            url: format!("http://127.0.0.1:{port}/"),
            watched: Address::repeat_byte(2),
            events: EventKinds::default().with(EventKind::Tx),
        };
        let id = registry.register(registration).await.unwrap().webhook.id;
        let mut dispatcher = Dispatcher::new(records, egress, vault, wake, MAX_PARKED);

        // The owner rotates and pings after the dispatcher has read the webhook, and before it reads its queue.
        dispatcher.apply_changes().await.unwrap();
        registry.rotate_secret(id).await.unwrap();
        registry.ping(id).await.unwrap();
        dispatcher.set_due(id, Some(0)).await.unwrap();
        dispatcher.fill_slots().await.unwrap();

        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            stream.read_buf(&mut request).await.unwrap();
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let request = String::from_utf8_lossy(&request).to_lowercase();
        let signatures = request.lines().find_map(|line| line.strip_prefix("webhook-signature: ")).unwrap();
        assert_eq!(signatures.split(' ').count(), 2, "the new secret and the old one: {signatures}");
    }
}
