//! Which of several endpoints is asked.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use domain::ChainIdentity;

use crate::{NodeError, error::Remedy, upstream::Upstream};

/// Failures in a row after which an endpoint is left alone for a while.
const PATIENCE: u32 = 3;
/// The same, where it cannot even be reached.
const PATIENCE_UNREACHABLE: u32 = 2;

#[derive(Debug)]
pub(crate) struct Failover {
    candidates: Vec<Candidate>,
    /// The first identity that any endpoint told: all others are measured against it.
    identity: Mutex<Option<ChainIdentity>>,
    probe_interval: Duration,
}

#[derive(Debug)]
struct Candidate {
    upstream: Arc<Upstream>,
    standing: Mutex<Standing>,
    /// Held while the endpoint is asked which chain it serves, so that many callers ask once.
    admission: tokio::sync::Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Standing {
    /// Known to serve the chain. Not taken for granted after the endpoint was gone: another node may have come back.
    admitted: bool,
    failures: u32,
    /// A connection was lost, which happens; or the endpoint was gone for a moment. Which chain it serves is asked again,
    /// beside the calls: no answer of another chain fits on ours, and hundreds of calls may be under way.
    unsure: bool,
    /// Left alone until then.
    down_until: Option<Instant>,
    foreign: bool,
    probing: bool,
}

impl Standing {
    fn is_usable(&self) -> bool {
        self.down_until.is_none() && !self.foreign
    }
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
        Self { candidates, identity: Mutex::default(), probe_interval }
    }

    pub(crate) fn upstream(&self, index: usize) -> &Arc<Upstream> {
        &self.candidates[index].upstream
    }

    /// The endpoint in use: the first of the list that is well. While none is, the one whose rest ends first.
    pub(crate) fn current(&self) -> usize {
        self.pick(None)
    }

    /// An endpoint for the next try, another than the one that just failed if any other is well.
    pub(crate) fn pick(&self, avoid: Option<usize>) -> usize {
        let usable = |index: &usize| self.candidates[*index].standing().is_usable();
        let everyone = 0..self.candidates.len();
        if let Some(index) = everyone.clone().find(|index| Some(*index) != avoid && usable(index)) {
            return index;
        }
        if let Some(index) = avoid.filter(usable) {
            return index;
        }
        let rest = |index: &usize| {
            let standing = self.candidates[*index].standing();
            (standing.foreign, standing.down_until)
        };
        everyone.min_by_key(rest).unwrap_or_default()
    }

    /// Endpoints that announce new heads and are well, the one in use first.
    pub(crate) fn announcers(&self) -> Vec<usize> {
        let current = self.current();
        let mut found: Vec<usize> = (0..self.candidates.len())
            .filter(|index| self.candidates[*index].upstream.announces_heads())
            .filter(|index| *index == current || self.candidates[*index].standing().is_usable())
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
            *standing =
                Standing { admitted: true, probing: standing.probing, unsure: standing.unsure, ..Standing::default() };
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

    pub(crate) fn succeeded(&self, index: usize) {
        let mut standing = self.candidates[index].standing();
        if standing.failures > 0 || standing.down_until.is_some() {
            standing.failures = 0;
            standing.down_until = None;
        }
    }

    pub(crate) fn failed(&self, index: usize, error: &NodeError) {
        let candidate = &self.candidates[index];
        let mut standing = candidate.standing();
        let patience = match error {
            NodeError::Unreachable { .. } => {
                standing.unsure = true;
                standing.admitted &= standing.failures + 1 < PATIENCE_UNREACHABLE;
                PATIENCE_UNREACHABLE
            }
            NodeError::WrongChain { .. } => return,
            // What is not true once is not asked a second time while somebody else can be asked.
            NodeError::InvalidBlock { .. } => 1,
            // What the node says about the call itself is no failure of the endpoint.
            NodeError::Rpc { .. } if error.remedy() != Remedy::AskAgain => return,
            _ if error.remedy() == Remedy::AskElsewhere => 1,
            _ => PATIENCE,
        };
        standing.failures += 1;
        if standing.failures >= patience {
            if standing.down_until.is_none() && self.candidates.len() > 1 {
                tracing::warn!(endpoint = candidate.upstream.name(), %error, "an endpoint is left alone for a while");
            }
            standing.down_until = Some(Instant::now() + self.probe_interval);
        }
    }

    /// Endpoints that have rested, are not in use, and ought to be tried again, and such as may have become others. Each is
    /// given out once until [`Self::probe`] was there.
    fn due_probes(&self) -> Vec<usize> {
        let current = self.current();
        let due = |index: &usize| {
            let mut standing = self.candidates[*index].standing();
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
