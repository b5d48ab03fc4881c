//! Takes from the queues and sends: as many as there are places, every endpoint in its turn.
//!
//! One task holds all state. It gives places to endpoints, and writes down what came of the attempts, many at once.
//! Endpoints wait in lanes by how far they are trusted; a lane can fill only so many places, so that those which hang
//! cannot take them from those which answer.

mod endpoint;
mod send;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use domain::{UnixMillis, WebhookId};
use rand::Rng;
use store::{StoreError, WebhookRecords};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::{
    endpoint::{Endpoint, Place},
    send::Sent,
};
use crate::{
    Egress, Vault, Wake,
    breaker::{IN_ALL, Trust},
    clock,
};

/// Longer than any claim can take to be sent.
const LEASE: Duration = Duration::from_secs(120);
/// Messages taken on at once for an endpoint that answers well.
const CLAIMED_AT_ONCE: usize = 16;
/// All queues are looked over now and then, should a signal ever be missed.
const LOOK_OVER: Duration = Duration::from_secs(30);
const TROUBLE_PAUSE: Duration = Duration::from_secs(1);
/// For messages under way when the service is told to stop.
const LAST_PATIENCE: Duration = Duration::from_secs(1);
/// Connections that are kept for later messages, over all endpoints.
const KEPT_CONNECTIONS: usize = 512;

pub struct Dispatcher {
    records: Arc<dyn WebhookRecords>,
    egress: Arc<Egress>,
    vault: Vault,
    wake: Wake,
    endpoints: HashMap<WebhookId, Endpoint>,
    lanes: HashMap<Trust, Lane>,
    timers: BTreeSet<(UnixMillis, WebhookId)>,
    sending: JoinSet<(Trust, Sent)>,
    kept_connections: usize,
    /// Whose turn it is.
    turn: usize,
    last_ticket: u64,
}

#[derive(Debug, Default)]
struct Lane {
    /// With their tickets.
    waiting: VecDeque<(WebhookId, u64)>,
    under_way: usize,
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher").field("endpoints", &self.endpoints.len()).finish_non_exhaustive()
    }
}

impl Dispatcher {
    #[must_use]
    pub fn new(records: Arc<dyn WebhookRecords>, egress: Arc<Egress>, vault: Vault, wake: Wake) -> Self {
        Self {
            records,
            egress,
            vault,
            wake,
            endpoints: HashMap::new(),
            lanes: Trust::ALL.into_iter().map(|trust| (trust, Lane::default())).collect(),
            timers: BTreeSet::new(),
            sending: JoinSet::new(),
            kept_connections: 0,
            turn: 0,
            last_ticket: 0,
        }
    }

    /// Sends until told to stop. What is under way then gets a moment to be answered; what is not, is sent again later.
    pub async fn run(mut self, cancel: CancellationToken) {
        let mut looked_over = None;
        while !cancel.is_cancelled() {
            if let Err(error) = self.work(&mut looked_over, &cancel).await {
                tracing::warn!(%error, "webhooks cannot be sent for now");
                cancel.run_until_cancelled(tokio::time::sleep(TROUBLE_PAUSE)).await;
            }
        }
        let _ = tokio::time::timeout(LAST_PATIENCE, async {
            while let Some(sent) = self.sending.join_next().await {
                self.finish(vec![sent]).await?;
            }
            Ok::<_, StoreError>(())
        })
        .await;
    }

    async fn work(
        &mut self,
        looked_over: &mut Option<tokio::time::Instant>,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        if looked_over.is_none_or(|at: tokio::time::Instant| at.elapsed() >= LOOK_OVER) {
            *looked_over = Some(tokio::time::Instant::now());
            self.look_over().await?;
        }
        self.hear_news().await?;
        self.start_due(clock::now());
        self.fill_places().await?;

        let until_due = self
            .timers
            .first()
            .map_or(LOOK_OVER, |(due, _)| Duration::from_millis(due.saturating_sub(clock::now()).max(1)));
        let wake = self.wake.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(()),
            Some(sent) = self.sending.join_next() => {
                let mut all = vec![sent];
                while let Some(sent) = self.sending.try_join_next() {
                    all.push(sent);
                }
                self.finish(all).await
            }
            () = wake.rung() => Ok(()),
            () = tokio::time::sleep(until_due.min(LOOK_OVER)) => Ok(()),
        }
    }

    /// Finds every queue that has something in it.
    async fn look_over(&mut self) -> Result<(), StoreError> {
        for head in self.records.list_queues().await? {
            self.set_due(head.webhook, Some(head.due)).await?;
        }
        self.endpoints.retain(|_, endpoint| !endpoint.resting || endpoint.under_way > 0);
        self.kept_connections = self.endpoints.values_mut().map(Endpoint::drop_old_connections).sum();
        Ok(())
    }

    async fn hear_news(&mut self) -> Result<(), StoreError> {
        let news = self.wake.take();
        for id in news.changed {
            self.renew(id).await?;
        }
        for id in news.queued {
            self.set_due(id, Some(0)).await?;
        }
        Ok(())
    }

    /// Takes on a webhook as its owner has changed it.
    async fn renew(&mut self, id: WebhookId) -> Result<(), StoreError> {
        let webhook = self.records.find_webhook(id).await?.filter(|webhook| webhook.active);
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            let claims = endpoint.give_up_claims();
            self.records.release(claims).await?;
        }
        let Some(webhook) = webhook else {
            self.rest(id);
            return Ok(());
        };
        let due = self.records.find_due(id).await?;
        let endpoint = self.endpoints.entry(id).or_insert_with(|| Endpoint::new(&webhook, &self.egress, &self.vault));
        endpoint.renew(&webhook, &self.egress, &self.vault);
        endpoint.due = due;
        self.settle(id, clock::now());
        Ok(())
    }

    async fn set_due(&mut self, id: WebhookId, due: Option<UnixMillis>) -> Result<(), StoreError> {
        if !self.endpoints.contains_key(&id) {
            let Some(webhook) = self.records.find_webhook(id).await?.filter(|webhook| webhook.active) else {
                return Ok(());
            };
            self.endpoints.insert(id, Endpoint::new(&webhook, &self.egress, &self.vault));
        }
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            endpoint.due = due;
        }
        self.settle(id, clock::now());
        Ok(())
    }

    fn rest(&mut self, id: WebhookId) {
        self.leave_place(id);
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            endpoint.resting = true;
        }
    }

    /// Puts an endpoint where it now belongs: into a lane, on a timer, or nowhere.
    fn settle(&mut self, id: WebhookId, now: UnixMillis) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        let place = match (endpoint.next(), endpoint.place) {
            (None, _) => Place::Nowhere,
            // Who stands in the right lane already keeps his place.
            (Some(at), Place::Lane(trust, _)) if at <= now && trust == endpoint.trust() => return,
            (Some(at), _) if at <= now => {
                self.last_ticket += 1;
                Place::Lane(endpoint.trust(), self.last_ticket)
            }
            (Some(at), _) => Place::Timer(at),
        };
        if endpoint.place == place {
            return;
        }
        self.leave_place(id);
        match place {
            Place::Nowhere => {}
            Place::Lane(trust, ticket) => {
                if let Some(lane) = self.lanes.get_mut(&trust) {
                    lane.waiting.push_back((id, ticket));
                }
            }
            Place::Timer(at) => {
                self.timers.insert((at, id));
            }
        }
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            endpoint.place = place;
        }
    }

    fn leave_place(&mut self, id: WebhookId) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        // An entry left behind in a lane is passed over when its turn comes.
        if let Place::Timer(at) = endpoint.place {
            self.timers.remove(&(at, id));
        }
        endpoint.place = Place::Nowhere;
    }

    fn start_due(&mut self, now: UnixMillis) {
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.timers.remove(&(at, id));
            if let Some(endpoint) = self.endpoints.get_mut(&id) {
                endpoint.place = Place::Nowhere;
            }
            self.settle(id, now);
        }
    }

    /// Gives places away as long as there are some and somebody waits for one.
    async fn fill_places(&mut self) -> Result<(), StoreError> {
        while self.sending.len() < IN_ALL
            && let Some((trust, id)) = self.next_in_turn()
        {
            self.send_one(trust, id).await?;
        }
        Ok(())
    }

    /// Lane after lane, so that none waits for another to be empty.
    fn next_in_turn(&mut self) -> Option<(Trust, WebhookId)> {
        for _ in 0..Trust::ALL.len() {
            let trust = Trust::ALL[self.turn % Trust::ALL.len()];
            self.turn += 1;
            let Some(lane) = self.lanes.get_mut(&trust) else { continue };
            while lane.under_way < trust.in_all()
                && let Some((id, ticket)) = lane.waiting.pop_front()
            {
                let Some(endpoint) = self.endpoints.get_mut(&id) else { continue };
                if endpoint.place == Place::Lane(trust, ticket) {
                    endpoint.place = Place::Nowhere;
                    return Some((trust, id));
                }
            }
        }
        None
    }

    async fn send_one(&mut self, trust: Trust, id: WebhookId) -> Result<(), StoreError> {
        let now = clock::now();
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return Ok(()) };
        if endpoint.claimed.is_empty() {
            let limit = if trust == Trust::Proven { CLAIMED_AT_ONCE } else { 1 };
            let lease_until = now + u64::try_from(LEASE.as_millis()).unwrap_or(u64::MAX);
            let claimed = self.records.claim(id, limit, now, lease_until).await?;
            // How many are left is told when those under way are written down.
            endpoint.due = if claimed.len() == limit { Some(0) } else { None };
            if claimed.is_empty() && endpoint.under_way == 0 {
                endpoint.due = self.records.find_due(id).await?.filter(|due| *due > now);
            }
            endpoint.claimed.extend(claimed);
        }
        if let Some(delivery) = endpoint.claimed.pop_front() {
            let connection = endpoint.take_connection();
            if connection.is_some() {
                self.kept_connections = self.kept_connections.saturating_sub(1);
            }
            endpoint.under_way += 1;
            if let Some(lane) = self.lanes.get_mut(&trust) {
                lane.under_way += 1;
            }
            let (egress, route) = (Arc::clone(&self.egress), endpoint.route.clone());
            let chance = rand::rng().random();
            self.sending
                .spawn(async move { (trust, send::attempt(egress, route, connection, delivery, chance).await) });
        }
        self.settle(id, now);
        Ok(())
    }

    /// Writes down what came of attempts, and lets their endpoints go on.
    async fn finish(&mut self, sent: Vec<Result<(Trust, Sent), tokio::task::JoinError>>) -> Result<(), StoreError> {
        let (mut reports, mut rests) = (Vec::new(), Vec::new());
        for outcome in sent {
            let (trust, sent) = match outcome {
                Ok(sent) => sent,
                Err(stopped) if stopped.is_panic() => std::panic::resume_unwind(stopped.into_panic()),
                Err(_) => continue,
            };
            if let Some(lane) = self.lanes.get_mut(&trust) {
                lane.under_way = lane.under_way.saturating_sub(1);
            }
            if let Some(endpoint) = self.endpoints.get_mut(&sent.report.webhook) {
                endpoint.under_way = endpoint.under_way.saturating_sub(1);
                if let Some((connection, route)) = sent.connection
                    && self.kept_connections < KEPT_CONNECTIONS
                    && endpoint.keep_connection(connection, &route)
                {
                    self.kept_connections += 1;
                }
            }
            rests.extend(sent.rest.map(|rest| (sent.report.webhook, rest)));
            reports.push(sent.report);
        }
        let states = self.write_down(reports).await?;
        let now = clock::now();
        for state in states {
            let id = state.webhook.id;
            let Some(endpoint) = self.endpoints.get_mut(&id) else { continue };
            endpoint.note(&state.webhook, now, rand::rng().random());
            endpoint.due = state.due;
            let mut claims = Vec::new();
            if endpoint.trust() != Trust::Proven {
                claims = endpoint.give_up_claims();
                if !claims.is_empty() {
                    endpoint.due = Some(0);
                }
            }
            for (_, rest) in rests.iter().filter(|(webhook, _)| *webhook == id) {
                endpoint.pause(now + u64::try_from(rest.as_millis()).unwrap_or(u64::MAX));
            }
            if !state.webhook.active {
                tracing::info!(webhook = id, failures = state.webhook.fail_count, "a webhook is no longer active");
                self.rest(id);
            }
            if !claims.is_empty() {
                self.records.release(claims).await?;
            }
            self.settle(id, now);
        }
        Ok(())
    }

    /// As often as it takes: what is not written down would be sent again.
    async fn write_down(&self, reports: Vec<domain::AttemptReport>) -> Result<Vec<store::QueueState>, StoreError> {
        let mut tries = 0;
        loop {
            match self.records.record_attempts(reports.clone()).await {
                Ok(states) => return Ok(states),
                Err(error) if tries < 3 => {
                    tracing::warn!(%error, "attempts are not written down yet");
                    tries += 1;
                    tokio::time::sleep(TROUBLE_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}
