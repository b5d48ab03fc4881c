//! Selects one of several endpoints.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::{BlockRef, ChainIdentity};
use tokio::time::Instant;

use crate::{
    endpoint::{
        health::{EndpointHealth, Operation},
        status::EndpointStatus,
        upstream::Upstream,
    },
    error::NodeError,
};

/// What is known about a chain. A dev chain stays one; another chain in its place is detected again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownChain {
    pub(crate) identity: ChainIdentity,
    pub(crate) is_dev_chain: bool,
}

#[derive(Debug)]
pub(crate) struct Failover {
    candidates: Vec<Candidate>,
    /// The first identity that any endpoint reported; the others must match it.
    identity: Mutex<Option<ChainIdentity>>,
    /// A block of that chain, which each endpoint that has one at this height must have.
    block: Mutex<Option<BlockRef>>,
    known_chain: Mutex<Option<KnownChain>>,
    probe_interval: Duration,
    surveyed_at: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Candidate {
    upstream: Upstream,
    health: Mutex<EndpointHealth>,
    /// Held while the endpoint's identity is requested, so that concurrent callers request it once.
    confirmation: tokio::sync::Mutex<Option<Instant>>,
}

impl Candidate {
    fn health(&self) -> MutexGuard<'_, EndpointHealth> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failover {
    pub(crate) fn new(upstreams: Vec<Upstream>, probe_interval: Duration) -> Self {
        let candidate =
            |upstream| Candidate { upstream, health: Mutex::default(), confirmation: tokio::sync::Mutex::default() };
        let candidates = upstreams.into_iter().map(candidate).collect();
        Self {
            candidates,
            identity: Mutex::default(),
            block: Mutex::default(),
            known_chain: Mutex::default(),
            probe_interval,
            surveyed_at: Mutex::default(),
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "an index is always below the number of endpoints, which does not change"
    )]
    fn candidate(&self, index: usize) -> &Candidate {
        &self.candidates[index]
    }

    pub(crate) fn upstream(&self, index: usize) -> &Upstream {
        &self.candidate(index).upstream
    }

    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    pub(crate) fn health(&self, index: usize) -> MutexGuard<'_, EndpointHealth> {
        self.candidate(index).health()
    }

    pub(crate) fn status(&self, index: usize) -> EndpointStatus {
        let upstream = self.upstream(index);
        let health = self.health(index);
        EndpointStatus {
            name: upstream.name().to_owned(),
            is_up: health.is_up(),
            is_behind: health.behind,
            calls: upstream.metrics().methods(),
        }
    }

    /// The endpoint in use: the first healthy one in the list, else the one whose suspension ends first.
    pub(crate) fn current(&self) -> usize {
        self.pick(Operation::Head, None)
    }

    /// An endpoint for the next attempt, preferably a healthy one other than the one that just failed. An endpoint that lags
    /// behind the others is used only if no other is healthy.
    pub(crate) fn pick(&self, operation: Operation, avoid: Option<usize>) -> usize {
        let now = Instant::now();
        let all = 0..self.candidates.len();
        let find = |wanted: &dyn Fn(&EndpointHealth) -> bool| {
            let mut others = all.clone().filter(|index| Some(*index) != avoid);
            others.find(|index| wanted(&self.health(*index)))
        };
        let again = |wanted: &dyn Fn(&EndpointHealth) -> bool| avoid.filter(|index| wanted(&self.health(*index)));
        let healthy = |health: &EndpointHealth| health.serves(operation, now);
        let healthy_and_level = |health: &EndpointHealth| healthy(health) && !health.behind;
        let found = find(&healthy_and_level)
            .or_else(|| again(&healthy_and_level))
            .or_else(|| find(&healthy))
            .or_else(|| again(&EndpointHealth::is_up))
            .or_else(|| find(&EndpointHealth::is_up));
        if let Some(index) = found {
            return index;
        }
        let suspension = |index: &usize| {
            let health = self.health(*index);
            (health.is_refused(), health.down_until)
        };
        all.min_by_key(suspension).unwrap_or_default()
    }

    /// Whether an endpoint is up and not lagging.
    pub(crate) fn is_preferable(&self, index: usize) -> bool {
        let health = self.health(index);
        health.is_up() && !health.behind
    }

    /// Endpoints that are up and push new heads, the one in use first.
    pub(crate) fn subscribable(&self) -> Vec<usize> {
        let current = self.current();
        let mut found: Vec<usize> = (0..self.candidates.len())
            .filter(|index| self.upstream(*index).supports_subscriptions())
            .filter(|index| *index == current || self.health(*index).is_up())
            .collect();
        found.sort_by_key(|index| *index != current);
        found
    }

    /// Verifies that the endpoint serves the same chain as the others.
    pub(crate) async fn confirm_chain(&self, index: usize) -> Result<(), NodeError> {
        let candidate = self.candidate(index);
        if candidate.health().chain_confirmed {
            return Ok(());
        }
        let waiting_since = Instant::now();
        let mut last_failure = candidate.confirmation.lock().await;
        if candidate.health().chain_confirmed {
            return Ok(());
        }
        if last_failure.is_some_and(|failed| failed > waiting_since) {
            let endpoint = candidate.upstream.name().to_owned();
            return Err(NodeError::Unreachable { endpoint, source: "its chain identity is unknown".into() });
        }
        let confirmation = self.request_identity(candidate).await;
        *last_failure = confirmation.is_err().then(Instant::now);
        confirmation.map(|_| ())
    }

    /// Requests an endpoint's chain identity again.
    pub(crate) async fn identity(&self, index: usize) -> Result<ChainIdentity, NodeError> {
        self.request_identity(self.candidate(index)).await
    }

    async fn request_identity(&self, candidate: &Candidate) -> Result<ChainIdentity, NodeError> {
        let found = candidate.upstream.identity().await?;
        let expected = *self.identity.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
        if found == expected {
            return self.confirm_block(candidate).await.map(|()| found);
        }
        let mut health = candidate.health();
        let endpoint = candidate.upstream.name().to_owned();
        if health.other_chain != Some(found) {
            tracing::error!(%endpoint, %expected, %found, "endpoint serves another chain and is not used: point --rpc at a node of \
                the indexed chain");
        }
        health.chain_confirmed = false;
        health.other_chain = Some(found);
        health.down_until = Some(Instant::now() + self.probe_interval);
        Err(NodeError::WrongChain { endpoint, expected, found })
    }

    /// The end of the confirmation of an endpoint that serves the expected chain, as far as its genesis tells.
    async fn confirm_block(&self, candidate: &Candidate) -> Result<(), NodeError> {
        let expected = *self.block.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(BlockRef { number, hash: expected }) = expected else {
            candidate.health().confirm_chain();
            return Ok(());
        };
        let found = match candidate.upstream.header(&format!("{number:#x}")).await {
            Ok(found) => found.map_or(expected, |block| block.hash),
            // It does not tell: the block is pruned, or not there yet.
            Err(NodeError::Rpc { .. }) => expected,
            Err(error) => return Err(error),
        };
        let mut health = candidate.health();
        if found == expected {
            health.confirm_chain();
            return Ok(());
        }
        let endpoint = candidate.upstream.name().to_owned();
        if !std::mem::replace(&mut health.other_block, true) {
            tracing::error!(%endpoint, number, %expected, %found, "endpoint serves another chain with the same genesis and is not used: \
                point --rpc at a node of the indexed chain");
        }
        health.chain_confirmed = false;
        health.down_until = Some(Instant::now() + self.probe_interval);
        Err(NodeError::WrongBlock { endpoint, number, expected, found })
    }

    /// The chain that all endpoints must serve, once one of them has answered.
    pub(crate) fn known_identity(&self) -> Option<ChainIdentity> {
        *self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn known_chain(&self, identity: ChainIdentity) -> Option<KnownChain> {
        let known = *self.known_chain.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|known| known.identity == identity)
    }

    /// Whether the expected chain is known to be one for development.
    pub(crate) fn is_dev_chain(&self) -> bool {
        let chain = self.known_identity().and_then(|identity| self.known_chain(identity));
        chain.is_some_and(|chain| chain.is_dev_chain)
    }

    pub(crate) fn remember_chain(&self, chain: KnownChain) {
        *self.known_chain.lock().unwrap_or_else(PoisonError::into_inner) = Some(chain);
    }

    /// The chain that all endpoints serve in place of the expected one. None if one of them does not answer, since it may serve the
    /// expected one.
    pub(crate) fn other_chain(&self) -> Option<ChainIdentity> {
        let mut found = (0..self.len()).map(|index| self.health(index).other_chain);
        let first = found.next().flatten()?;
        found.all(|other| other == Some(first)).then_some(first)
    }

    /// All endpoints must serve this chain from now on.
    pub(crate) fn expect(&self, chain: ChainIdentity) {
        if self.identity.lock().unwrap_or_else(PoisonError::into_inner).replace(chain) != Some(chain) {
            *self.block.lock().unwrap_or_else(PoisonError::into_inner) = None;
            (0..self.len()).for_each(|index| *self.health(index) = EndpointHealth::default());
        }
    }

    /// All endpoints must have this block of the chain from now on, or none at its height. Compared before the next request if no block
    /// was expected before, or if the endpoint is refused; otherwise when the endpoint is confirmed again.
    pub(crate) fn expect_block(&self, block: Option<BlockRef>) {
        let before = std::mem::replace(&mut *self.block.lock().unwrap_or_else(PoisonError::into_inner), block);
        if before == block {
            return;
        }
        for index in 0..self.len() {
            let mut health = self.health(index);
            if health.other_block {
                *health = EndpointHealth::default();
            }
            health.chain_confirmed &= before.is_some();
        }
    }

    /// Whether each endpoint is known to serve another chain.
    pub(crate) fn refuses_all(&self) -> bool {
        (0..self.len()).all(|index| self.health(index).is_refused())
    }

    pub(crate) fn succeeded(&self, index: usize, operation: Operation) {
        self.health(index).succeeded(operation);
    }

    pub(crate) fn failed(&self, index: usize, operation: Operation, error: &NodeError) {
        let is_suspended = self.health(index).failed(operation, error, self.probe_interval, Instant::now());
        if is_suspended && self.len() > 1 {
            let endpoint = self.upstream(index).name();
            tracing::warn!(endpoint, ?operation, %error, "endpoint suspended after failures");
        }
    }

    /// Endpoints whose suspension is over and that are not in use, and those that may serve another chain now. Each is
    /// returned once until [`Self::probe`] has completed.
    fn due_probes(&self) -> Vec<usize> {
        let current = self.current();
        let due = |index: &usize| {
            let mut health = self.health(*index);
            let suspension_over = *index != current && health.down_until.is_some_and(|until| until <= Instant::now());
            let due = !health.probing && (suspension_over || health.recheck_identity);
            health.probing |= due;
            health.recheck_identity &= !due;
            due
        };
        (0..self.candidates.len()).filter(due).collect()
    }

    /// Probes due endpoints in the background, so that no call waits for one that may still be down.
    pub(crate) fn probe_due(self: &Arc<Self>) {
        for index in self.due_probes() {
            let failover = Arc::clone(self);
            tokio::spawn(async move { failover.probe(index).await });
        }
        if self.is_survey_due() {
            let failover = Arc::clone(self);
            tokio::spawn(async move { failover.survey().await });
        }
    }

    /// A stalled endpoint responds normally, so only a comparison of heads reveals it. Not before the chain identity is known:
    /// it must come from the preferred endpoint, not from the fastest.
    fn is_survey_due(&self) -> bool {
        if self.known_identity().is_none() {
            return false;
        }
        let (mut surveyed_at, now) = (self.surveyed_at.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let due = self.len() > 1 && surveyed_at.is_none_or(|then| now.duration_since(then) >= self.probe_interval);
        if due {
            *surveyed_at = Some(now);
        }
        due
    }

    async fn probe(&self, index: usize) {
        let candidate = self.candidate(index);
        let was_down = candidate.health().down_until.is_some();
        let outcome = self.request_identity(candidate).await;
        let mut health = candidate.health();
        health.probing = false;
        match outcome {
            Ok(_) if was_down => tracing::info!(endpoint = candidate.upstream.name(), "endpoint is back"),
            Ok(_) => {}
            Err(_) => health.down_until = Some(Instant::now() + self.probe_interval),
        }
    }
}
