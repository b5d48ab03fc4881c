//! Takes from the queues and sends: as many as there are places, every endpoint in its turn.
//!
//! One task holds all state. It gives places to endpoints, and writes down what came of the attempts, many at once.
//! Whose turn it is and how many places there are is decided in [`turns`] and [`places`], which know no time and no socket.

mod endpoint;
mod places;
mod send;
mod turns;

use std::{collections::HashMap, sync::Arc, time::Duration};

use domain::{DeliveryNumber, UnixMillis, WebhookId};
use rand::{Rng, SeedableRng, rngs::StdRng};
use store::{StoreError, WebhookRecords};
use tokio::task::{self, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::places::MOST_SET_ASIDE;
use self::{
    endpoint::Endpoint,
    places::{PlaceNumber, Places},
    send::Sent,
    turns::Turns,
};
use crate::{
    Egress, Vault, Wake,
    breaker::Trust,
    clock::{self, millis},
    wake::News,
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
    turns: Turns,
    places: Places,
    sending: JoinSet<Sent>,
    /// What each task is about, should it not live to tell.
    tasks: HashMap<task::Id, UnderWay>,
    kept_connections: usize,
    looked_over: Option<Instant>,
    taken_over: bool,
    /// For the pauses between attempts.
    rng: StdRng,
}

/// A message under way.
struct UnderWay {
    place: PlaceNumber,
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
    /// `most_set_aside` bounds the messages that wait for slow receivers; [`MOST_SET_ASIDE`] is plenty.
    #[must_use]
    pub fn new(
        records: Arc<dyn WebhookRecords>,
        egress: Arc<Egress>,
        vault: Vault,
        wake: Wake,
        most_set_aside: usize,
    ) -> Self {
        Self {
            records,
            egress,
            vault,
            wake,
            endpoints: HashMap::new(),
            turns: Turns::default(),
            places: Places::new(most_set_aside),
            sending: JoinSet::new(),
            tasks: HashMap::new(),
            kept_connections: 0,
            looked_over: None,
            taken_over: false,
            rng: StdRng::from_rng(&mut rand::rng()),
        }
    }

    /// Makes the pauses between attempts the same in each run with the same seed, for simulations.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed), ..self }
    }

    /// Sends until told to stop. What is under way then gets a moment to be answered; what is not, is sent again later.
    pub async fn run(mut self, cancel: CancellationToken) {
        while !cancel.is_cancelled() {
            if let Err(error) = self.work(&cancel).await {
                tracing::warn!(%error, "webhooks cannot be sent for now");
                cancel.run_until_cancelled(tokio::time::sleep(TROUBLE_PAUSE)).await;
            }
        }
        let _ = tokio::time::timeout(LAST_PATIENCE, async {
            while let Some(ended) = self.sending.join_next_with_id().await {
                self.finish(vec![ended]).await?;
            }
            Ok::<_, StoreError>(())
        })
        .await;
    }

    /// Takes over from a dispatcher that ended without a word: what it had claimed is free.
    async fn take_over(&mut self) -> Result<(), StoreError> {
        if !self.taken_over {
            self.records.end_leases().await?;
            self.taken_over = true;
        }
        Ok(())
    }

    async fn work(&mut self, cancel: &CancellationToken) -> Result<(), StoreError> {
        self.take_over().await?;
        if self.looked_over.is_none_or(|at| at.elapsed() >= LOOK_OVER) {
            self.look_over().await?;
            self.looked_over = Some(Instant::now());
        }
        self.hear_news().await?;
        let now = clock::now();
        for id in self.turns.take_due(now) {
            self.settle(id, now);
        }
        let until_aside = self.fill_places().await?;
        let until_due =
            self.turns.next_timer().map(|due| Duration::from_millis(due.saturating_sub(clock::now()).max(1)));
        let patience = [until_aside, until_due].into_iter().flatten().min().unwrap_or(LOOK_OVER).min(LOOK_OVER);
        let wake = self.wake.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(()),
            Some(ended) = self.sending.join_next_with_id() => {
                let mut all = vec![ended];
                while let Some(ended) = self.sending.try_join_next_with_id() {
                    all.push(ended);
                }
                self.finish(all).await
            }
            () = wake.rung() => Ok(()),
            () = tokio::time::sleep(patience) => Ok(()),
        }
    }

    /// Finds every queue that has something in it.
    async fn look_over(&mut self) -> Result<(), StoreError> {
        for head in self.records.list_queues().await? {
            self.set_due(head.webhook, Some(head.due)).await?;
        }
        self.endpoints.retain(|_, endpoint| !endpoint.resting || !endpoint.under_way.is_empty());
        self.kept_connections = self.endpoints.values_mut().map(Endpoint::drop_old_connections).sum();
        Ok(())
    }

    async fn hear_news(&mut self) -> Result<(), StoreError> {
        let mut news = self.wake.take();
        let heard = self.heed(&mut news).await;
        // What could not be heeded is news still: nobody will tell it again.
        self.wake.put_back(news);
        heard
    }

    async fn heed(&mut self, news: &mut News) -> Result<(), StoreError> {
        while let Some(id) = news.changed.iter().next().copied() {
            self.renew(id).await?;
            news.changed.remove(&id);
        }
        while let Some(id) = news.queued.iter().next().copied() {
            self.set_due(id, Some(0)).await?;
            news.queued.remove(&id);
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
        self.turns.leave(id);
        if let Some(endpoint) = self.endpoints.get_mut(&id) {
            endpoint.resting = true;
        }
    }

    /// Puts an endpoint where it now belongs: into a lane, on a timer, or nowhere.
    fn settle(&mut self, id: WebhookId, now: UnixMillis) {
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return };
        match endpoint.next(now) {
            Some(at) => self.turns.wait(id, endpoint.trust(), at, now),
            None => self.turns.leave(id),
        }
    }

    /// Gives places away as long as there are some and somebody waits for one. Where somebody still does, says when the
    /// next will be free at the latest.
    async fn fill_places(&mut self) -> Result<Option<Duration>, StoreError> {
        self.places.set_aside(Instant::now());
        while let Some((trust, id)) = self.turns.next(|trust| self.places.is_free(trust)) {
            if let Err(error) = self.send_one(trust, id).await {
                self.settle(id, clock::now());
                return Err(error);
            }
        }
        Ok(self.places.set_aside(Instant::now()).filter(|_| self.turns.anybody_in_a_lane()))
    }

    async fn send_one(&mut self, trust: Trust, id: WebhookId) -> Result<(), StoreError> {
        let now = clock::now();
        let Some(endpoint) = self.endpoints.get_mut(&id) else { return Ok(()) };
        if endpoint.claimed.is_empty() {
            let limit = if trust == Trust::Proven { CLAIMED_AT_ONCE } else { 1 };
            let claimed = self.records.claim(id, limit, now, now + millis(LEASE)).await?;
            // How many are left is told when those under way are written down.
            endpoint.due = if claimed.len() == limit { Some(0) } else { None };
            if claimed.is_empty() && endpoint.under_way.is_empty() {
                endpoint.due = self.records.find_due(id).await?.filter(|due| *due > now);
            }
            endpoint.claimed.extend(claimed);
        }
        if let Some(delivery) = endpoint.begin_next() {
            let connection = endpoint.take_connection();
            if connection.is_some() {
                self.kept_connections = self.kept_connections.saturating_sub(1);
            }
            let place = self.places.take(trust, Instant::now());
            let (egress, route) = (Arc::clone(&self.egress), endpoint.route.clone());
            let (number, chance) = (delivery.number, self.rng.random());
            let task = self.sending.spawn(send::attempt(egress, route, connection, delivery, chance));
            self.tasks.insert(task.id(), UnderWay { place, webhook: id, number });
        }
        self.settle(id, now);
        Ok(())
    }

    /// Writes down what came of attempts, and lets their endpoints go on.
    async fn finish(&mut self, ended: Vec<Ended>) -> Result<(), StoreError> {
        let (mut reports, mut rests) = (Vec::new(), Vec::new());
        for ended in ended {
            let (task, sent) = match ended {
                Ok((task, sent)) => (task, Some(sent)),
                Err(stopped) => (stopped.id(), None),
            };
            let Some(UnderWay { place, webhook, number }) = self.tasks.remove(&task) else { continue };
            self.places.give_back(place);
            let endpoint = self.endpoints.get_mut(&webhook);
            let Some(sent) = sent else {
                // One message must not stop all others. Its lease is left to end: until then it is not touched again.
                tracing::error!(webhook, number, "an attempt ended in a panic");
                if let Some(endpoint) = endpoint {
                    endpoint.under_way.remove(&number);
                }
                continue;
            };
            if let Some(endpoint) = endpoint {
                endpoint.under_way.remove(&number);
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
            endpoint.note(&state.webhook, now, self.rng.random());
            endpoint.due = state.due;
            let mut claims = Vec::new();
            if endpoint.trust() != Trust::Proven {
                claims = endpoint.give_up_claims();
                if !claims.is_empty() {
                    endpoint.due = Some(0);
                }
            }
            for (_, rest) in rests.iter().filter(|(webhook, _)| *webhook == id) {
                endpoint.pause(*rest, now);
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
