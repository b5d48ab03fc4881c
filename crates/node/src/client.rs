use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Duration,
};

use domain::{BlockRef, ChainIdentity};
use futures::future::BoxFuture;

use crate::{
    address::Endpoint,
    config::{NodeConfig, PollBounds, RetryPolicy},
    endpoint::{
        failover::Failover,
        health::Operation,
        jitter::Jitter,
        lane::Lane,
        status::{Counters, EndpointStatus, NodeStatus},
        survey::HeadSurvey,
        upstream::{Transports, Upstream},
    },
    error::{NodeError, Recovery},
    genesis::Genesis,
    transport::{Exchange, Transport},
    verify::{BlockChecks, BlockVerifier, Evidence},
};

/// Longest pause between attempts on a dev chain: a developer restarts the node, and waits.
const DEV_CHAIN_PAUSE: Duration = Duration::from_millis(250);

/// Client of one or more node endpoints. Cheap to clone; all clones share connections, limits and counters.
#[derive(Debug, Clone)]
pub struct NodeClient {
    failover: Arc<Failover>,
    counters: Arc<Counters>,
    evidence: Arc<Evidence>,
    genesis: Option<Arc<Genesis>>,
    retry: RetryPolicy,
    poll: PollBounds,
    jitter: Arc<Jitter>,
    lane: Lane,
}

impl NodeClient {
    /// Opens no connection: the node may be down.
    pub fn new(config: NodeConfig) -> Result<Self, NodeError> {
        Self::with_transports(config, |_, endpoint, config| Transport::new(endpoint, config))
    }

    /// Uses in-process nodes, one per configured endpoint; the endpoints then serve as names only.
    pub fn in_process(config: NodeConfig, nodes: &[Arc<dyn Exchange>]) -> Result<Self, NodeError> {
        Self::with_transports(config, |index, _, _| {
            nodes.get(index).map(|node| Transport::InProcess(Arc::clone(node))).ok_or(NodeError::NoEndpoint)
        })
    }

    fn with_transports(
        config: NodeConfig,
        transport: impl Fn(usize, &Endpoint, &NodeConfig) -> Result<Transport, NodeError>,
    ) -> Result<Self, NodeError> {
        if config.endpoints.is_empty() {
            return Err(NodeError::NoEndpoint);
        }
        let jitter = Arc::new(Jitter::new(config.jitter_seed));
        // An error means that the process has already installed a provider, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let counters = Arc::new(Counters::default());
        let evidence = Arc::new(Evidence::default());
        let upstream = |(index, endpoint): (usize, &Endpoint)| {
            let checks = match config.verify_blocks {
                BlockChecks::Cheap if index > 0 => BlockChecks::Full,
                checks => checks,
            };
            let verifier = BlockVerifier::new(checks, Arc::clone(&evidence), endpoint.host());
            let separate = match endpoint {
                Endpoint::Http(_) => None,
                Endpoint::WebSocket(_) | Endpoint::Ipc(_) => Some(transport(index, endpoint, &config)?),
            };
            let transports = Transports { main: transport(index, endpoint, &config)?, separate };
            let shared = (Arc::clone(&counters), Arc::clone(&jitter));
            Ok(Upstream::new(endpoint, &config, transports, shared, verifier))
        };
        let upstreams = config.endpoints.iter().enumerate().map(upstream).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            failover: Arc::new(Failover::new(upstreams, config.probe_interval)),
            counters,
            evidence,
            genesis: config.genesis,
            retry: config.retry,
            poll: config.poll,
            jitter,
            lane: Lane::Block,
        })
    }

    /// For requests of users. They have a share of the calls to the node that neither indexing nor background work can take.
    #[must_use]
    pub fn for_users(&self) -> Self {
        Self { lane: Lane::User, ..self.clone() }
    }

    /// For work that nobody waits for. What a new client is for, indexing, has blocks that wait for the responses.
    #[must_use]
    pub fn for_background(&self) -> Self {
        Self { lane: Lane::Background, ..self.clone() }
    }

    /// The current heads of all endpoints. Endpoints that lag behind are avoided from now on.
    pub fn survey_heads(&self) -> BoxFuture<'_, HeadSurvey> {
        Box::pin(async move { self.failover.survey().await })
    }

    /// The chain that all endpoints serve in place of the expected one: that of the first response, or of [`Self::expect_chain`].
    /// None also if one of them does not answer.
    #[must_use]
    pub fn other_chain(&self) -> Option<ChainIdentity> {
        self.failover.other_chain()
    }

    /// The chain that all endpoints must serve; None before the first response.
    #[must_use]
    pub fn expected_chain(&self) -> Option<ChainIdentity> {
        self.failover.known_identity()
    }

    /// Uses only endpoints that serve this chain from now on.
    pub fn expect_chain(&self, chain: ChainIdentity) {
        self.failover.expect(chain);
    }

    /// Uses only endpoints that have this block, or none at its height; None if no block is known that all of them must have.
    pub fn expect_block(&self, block: Option<BlockRef>) {
        self.failover.expect_block(block);
    }

    /// Compares the chain of each endpoint again: another node may answer at its address by now.
    pub fn confirm_chain(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for index in 0..self.failover.len() {
                // An endpoint that is refused is logged; one that is down is noticed by its requests.
                let _ = self.failover.identity(index).await;
            }
        })
    }

    /// Whether no endpoint is left, since each of them serves another chain than the expected one.
    #[must_use]
    pub fn refuses_all(&self) -> bool {
        self.failover.refuses_all()
    }

    /// How long requests have gone without a response from any endpoint; None if the last one was answered.
    #[must_use]
    pub fn silent_for(&self) -> Option<Duration> {
        self.counters.silent_for()
    }

    #[must_use]
    pub fn status(&self) -> NodeStatus {
        let upstream = self.failover.upstream(self.failover.current());
        NodeStatus {
            reachable: self.counters.reachable.load(Ordering::Relaxed),
            endpoint: upstream.name().to_owned(),
            concurrency_limit: upstream.concurrency_limit(),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and positive")]
            requests_per_second: upstream.rate_limit().map(|rate| rate.ceil() as u64),
            requests: self.counters.requests.load(Ordering::Relaxed),
            retries: self.counters.retries.load(Ordering::Relaxed),
            rejected_responses: self.counters.rejected_responses.load(Ordering::Relaxed),
            rejected_block: self.evidence.rejected_block(),
            unproven_blocks: self.evidence.unproven_blocks(),
        }
    }

    /// Every endpoint, in the order of the configuration.
    #[must_use]
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        (0..self.failover.len()).map(|index| self.failover.status(index)).collect()
    }

    pub(crate) fn failover(&self) -> &Failover {
        &self.failover
    }

    pub(crate) fn genesis(&self) -> Option<&Genesis> {
        self.genesis.as_deref()
    }

    pub(crate) fn lane(&self) -> Lane {
        self.lane
    }

    pub(crate) fn poll_bounds(&self) -> PollBounds {
        self.poll
    }

    /// Attempts at a request, including the first.
    pub(crate) fn tries(&self) -> u32 {
        self.retry.tries
    }

    /// The name of the endpoint in use.
    pub(crate) fn endpoint_in_use(&self) -> &str {
        self.failover.upstream(self.failover.current()).name()
    }

    /// Sends a request and retries it while that may help: on another endpoint immediately, on the same one after a backoff.
    pub(crate) async fn with_retries<T, F, Answer>(
        &self,
        operation: Operation,
        tries: u32,
        request: F,
    ) -> Result<T, NodeError>
    where
        T: Send,
        F: Fn(usize, Upstream) -> Answer + Sync,
        Answer: Future<Output = Result<T, NodeError>> + Send,
    {
        let answer = Mutex::new(None);
        let attempt = |index, upstream| -> BoxFuture<'_, Result<(), NodeError>> {
            let attempted = request(index, upstream);
            Box::pin(async {
                let found = attempted.await?;
                *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
                Ok(())
            })
        };
        self.retry(operation, tries, &attempt).await?;
        answer.into_inner().unwrap_or_else(PoisonError::into_inner).ok_or(NodeError::NoEndpoint)
    }

    /// The part of [`Self::with_retries`] that does not depend on the type of the answer, compiled once.
    fn retry<'a>(
        &'a self,
        operation: Operation,
        tries: u32,
        attempt: &'a (dyn Fn(usize, Upstream) -> BoxFuture<'a, Result<(), NodeError>> + Sync),
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(async move {
            let mut tried_endpoints = Vec::new();
            let mut failed = None;
            for tried in 1.. {
                self.failover.probe_due();
                let index = self.failover.pick(operation, failed);
                tried_endpoints.push(index);
                let outcome = match self.failover.confirm_chain(index).await {
                    Ok(()) => attempt(index, self.failover.upstream(index).in_lane(self.lane)).await,
                    Err(error) => Err(error),
                };
                let error = match outcome {
                    Ok(()) => {
                        self.failover.succeeded(index, operation);
                        return Ok(());
                    }
                    Err(error) => error,
                };
                self.failover.failed(index, operation, &error);
                if matches!(error, NodeError::InvalidResponse { .. } | NodeError::InvalidBlock { .. }) {
                    Counters::count(&self.counters.rejected_responses);
                    let endpoint = self.failover.upstream(index).name();
                    tracing::warn!(endpoint, %error, "rejected an invalid response");
                }
                failed = Some(index);
                let elsewhere = !tried_endpoints.contains(&self.failover.pick(operation, failed));
                let pause = match error.recovery() {
                    _ if tried >= tries => return Err(error),
                    Recovery::GiveUp => return Err(error),
                    // A trace that takes long would take long again.
                    _ if operation == Operation::Trace && matches!(error, NodeError::TimedOut { .. }) => {
                        return Err(error);
                    }
                    Recovery::TryElsewhere if !elsewhere => return Err(error),
                    _ if elsewhere => Duration::ZERO,
                    _ if self.failover.is_dev_chain() => {
                        self.retry.pause_after(tried, &self.jitter).min(DEV_CHAIN_PAUSE)
                    }
                    _ => self.retry.pause_after(tried, &self.jitter),
                };
                Counters::count(&self.counters.retries);
                tracing::debug!(%error, tried, ?pause, "retrying a request");
                tokio::time::sleep(pause).await;
            }
            Err(NodeError::NoEndpoint)
        })
    }
}
