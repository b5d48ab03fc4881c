//! Which of several endpoints is asked.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use domain::ChainIdentity;
use tokio::time::Instant;

use crate::{
    NodeError,
    standing::{Operation, Standing},
    upstream::Upstream,
};

#[derive(Debug)]
pub(crate) struct Failover {
    candidates: Vec<Candidate>,
    /// The first identity that any endpoint told: all others are measured against it.
    identity: Mutex<Option<ChainIdentity>>,
    probe_interval: Duration,
    surveyed_at: Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Candidate {
    upstream: Arc<Upstream>,
    standing: Mutex<Standing>,
    /// Held while the endpoint is asked which chain it serves, so that many callers ask once.
    admission: tokio::sync::Mutex<Option<Instant>>,
}

impl Candidate {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failover {
    pub(crate) fn new(upstreams: Vec<Upstream>, probe_interval: Duration) -> Self {
        let candidate = |upstream| Candidate {
            upstream: Arc::new(upstream),
            standing: Mutex::default(),
            admission: tokio::sync::Mutex::default(),
        };
        let candidates = upstreams.into_iter().map(candidate).collect();
        Self { candidates, identity: Mutex::default(), probe_interval, surveyed_at: Mutex::default() }
    }

    pub(crate) fn upstream(&self, index: usize) -> &Arc<Upstream> {
        &self.candidates[index].upstream
    }

    /// How many endpoints there are.
    pub(crate) fn len(&self) -> usize {
        self.candidates.len()
    }

    pub(crate) fn standing(&self, index: usize) -> MutexGuard<'_, Standing> {
        self.candidates[index].standing()
    }

    /// The endpoint in use: the first of the list that is well. While none is, the one whose rest ends first.
    pub(crate) fn current(&self) -> usize {
        self.pick(Operation::Head, None)
    }

    /// An endpoint for the next try, another than the one that just failed if any other is well. One that is behind the
    /// others is passed over as long as another is well.
    pub(crate) fn pick(&self, operation: Operation, avoid: Option<usize>) -> usize {
        let now = Instant::now();
        let everyone = 0..self.candidates.len();
        let find = |wanted: &dyn Fn(&Standing) -> bool| {
            let mut others = everyone.clone().filter(|index| Some(*index) != avoid);
            others.find(|index| wanted(&self.standing(*index)))
        };
        let again = |wanted: &dyn Fn(&Standing) -> bool| avoid.filter(|index| wanted(&self.standing(*index)));
        let well = |standing: &Standing| standing.serves(operation, now);
        let well_and_level = |standing: &Standing| well(standing) && !standing.behind;
        let found = find(&well_and_level)
            .or_else(|| again(&well_and_level))
            .or_else(|| find(&well))
            .or_else(|| again(&Standing::is_up))
            .or_else(|| find(&Standing::is_up));
        if let Some(index) = found {
            return index;
        }
        let rest = |index: &usize| {
            let standing = self.standing(*index);
            (standing.foreign, standing.down_until)
        };
        everyone.min_by_key(rest).unwrap_or_default()
    }

    /// Whether an endpoint is well and not behind.
    pub(crate) fn is_preferable(&self, index: usize) -> bool {
        let standing = self.standing(index);
        standing.is_up() && !standing.behind
    }

    /// Endpoints that announce new heads and are well, the one in use first.
    pub(crate) fn announcers(&self) -> Vec<usize> {
        let current = self.current();
        let mut found: Vec<usize> = (0..self.candidates.len())
            .filter(|index| self.candidates[*index].upstream.announces_heads())
            .filter(|index| *index == current || self.standing(*index).is_up())
            .collect();
        found.sort_by_key(|index| *index != current);
        found
    }

    /// Makes sure that the endpoint serves the chain that the others do.
    pub(crate) async fn admit(&self, index: usize) -> Result<(), NodeError> {
        let candidate = &self.candidates[index];
        if candidate.standing().admitted {
            return Ok(());
        }
        let waiting_since = Instant::now();
        let mut last_failure = candidate.admission.lock().await;
        if candidate.standing().admitted {
            return Ok(());
        }
        if last_failure.is_some_and(|failed| failed > waiting_since) {
            let endpoint = candidate.upstream.name().to_owned();
            return Err(NodeError::Unreachable { endpoint, source: "it did not tell which chain it serves".into() });
        }
        let admission = self.ask_identity(candidate).await;
        *last_failure = admission.is_err().then(Instant::now);
        admission.map(|_| ())
    }

    /// Asks an endpoint anew which chain it serves.
    pub(crate) async fn identity(&self, index: usize) -> Result<ChainIdentity, NodeError> {
        self.ask_identity(&self.candidates[index]).await
    }

    async fn ask_identity(&self, candidate: &Candidate) -> Result<ChainIdentity, NodeError> {
        let found = candidate.upstream.identity().await?;
        let expected = *self.identity.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
        let mut standing = candidate.standing();
        if found == expected {
            standing.admit();
            return Ok(found);
        }
        let endpoint = candidate.upstream.name().to_owned();
        if !standing.foreign {
            tracing::error!(%endpoint, ?expected, ?found, "an endpoint serves another chain and is not used");
        }
        standing.admitted = false;
        standing.foreign = true;
        standing.down_until = Some(Instant::now() + self.probe_interval);
        Err(NodeError::WrongChain { endpoint, expected, found })
    }

    pub(crate) fn succeeded(&self, index: usize, operation: Operation) {
        self.standing(index).succeeded(operation);
    }

    pub(crate) fn failed(&self, index: usize, operation: Operation, error: &NodeError) {
        let is_left_alone = self.standing(index).failed(operation, error, self.probe_interval, Instant::now());
        if is_left_alone && self.len() > 1 {
            let endpoint = self.upstream(index).name();
            tracing::warn!(endpoint, ?operation, %error, "an endpoint is left alone for a while");
        }
    }

    /// Endpoints that have rested, are not in use, and ought to be tried again, and such as may have become others. Each is
    /// given out once until [`Self::probe`] was there.
    fn due_probes(&self) -> Vec<usize> {
        let current = self.current();
        let due = |index: &usize| {
            let mut standing = self.standing(*index);
            let rested = *index != current && standing.down_until.is_some_and(|until| until <= Instant::now());
            let due = !standing.probing && (rested || standing.unsure);
            standing.probing |= due;
            standing.unsure &= !due;
            due
        };
        (0..self.candidates.len()).filter(due).collect()
    }

    /// Tries endpoints that are due, beside the calls: no call has to wait for one that may still be down.
    pub(crate) fn probe_rested(self: &Arc<Self>) {
        for index in self.due_probes() {
            let failover = Arc::clone(self);
            tokio::spawn(async move { failover.probe(index).await });
        }
        if self.is_survey_due() {
            let failover = Arc::clone(self);
            tokio::spawn(async move { failover.survey().await });
        }
    }

    /// A preferred endpoint that stands still answers as if nothing were wrong: only the others can tell. Not before it is
    /// known which chain is served: the first endpoint that is asked says so, and not the one that answers first.
    fn is_survey_due(&self) -> bool {
        if self.identity.lock().unwrap_or_else(PoisonError::into_inner).is_none() {
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
        let candidate = &self.candidates[index];
        let was_down = candidate.standing().down_until.is_some();
        let outcome = self.ask_identity(candidate).await;
        let mut standing = candidate.standing();
        standing.probing = false;
        match outcome {
            Ok(_) if was_down => tracing::info!(endpoint = candidate.upstream.name(), "an endpoint is back"),
            Ok(_) => {}
            Err(_) => standing.down_until = Some(Instant::now() + self.probe_interval),
        }
    }
}
