use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::{
    Account, Address, B256, BlockNumber, BlockRef, Bytes, ChainIdentity, CreationId, FetchedBlock, PendingTransaction,
    Transaction, TransactionDetail, TransactionFailure, U256,
};
use futures::future::BoxFuture;

use crate::{
    BlockCalls, BlockChecks, CallBlock, CallOutcome, CallRequest, CallResults, CallTree, Codes, ContractCall, Endpoint,
    EndpointStatus, FoundLog, HeadSurvey, Heads, InternalCall, LogFilter, NodeConfig, NodeError, NodeStatus,
    PollBounds, RetryPolicy, StateChanges, ViewOutcome,
    account::fetch_account,
    balances::fetch_balances,
    blocks::fetch_block,
    call, call_tree,
    calls::call_contracts,
    codes::fetch_codes,
    contract, creation,
    endpoint_health::Operation,
    error::Recovery,
    failover::Failover,
    failure, internal,
    jitter::Jitter,
    lane::Lane,
    logs::fetch_logs,
    pending::fetch_pending,
    raw,
    rpc_error::RpcErrorKind,
    state_changes,
    status::Counters,
    transaction::{fetch_transaction, fetch_transactions},
    transport::{Exchange, Transport},
    upstream::{Transports, Upstream},
    verify::{Evidence, Verifier},
    view,
};

/// Attempts at a trace, which costs the node more than other calls. Five: if a fifth of the requests fail, one trace in three thousand
/// stays unknown.
const TRACE_TRIES: u32 = 5;
/// Longest pause between attempts on a dev chain: a developer restarts the node, and waits.
const DEV_CHAIN_PAUSE: Duration = Duration::from_millis(250);

/// Client of one or more node endpoints. Cheap to clone; all clones share connections, limits and counters.
#[derive(Debug, Clone)]
pub struct NodeClient {
    failover: Arc<Failover>,
    counters: Arc<Counters>,
    evidence: Arc<Evidence>,
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
            let verifier = Verifier::new(checks, Arc::clone(&evidence), endpoint.host());
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

    /// Which chain the node serves.
    pub fn identity(&self) -> BoxFuture<'_, Result<ChainIdentity, NodeError>> {
        Box::pin(async move {
            let failover = &self.failover;
            self.with_retries(Operation::Identity, self.retry.tries, |index, _| async move {
                failover.identity(index).await
            })
            .await
        })
    }

    /// The node's latest block.
    pub fn head(&self) -> BoxFuture<'_, Result<BlockRef, NodeError>> {
        Box::pin(async move {
            self.with_retries(Operation::Head, self.retry.tries, |_, upstream| async move { upstream.head().await })
                .await
        })
    }

    /// The node's latest block, without retries: pollers retry on their own.
    pub(crate) async fn head_once(&self) -> Result<BlockRef, NodeError> {
        self.with_retries(Operation::Head, 1, |_, upstream| async move { upstream.head().await }).await
    }

    /// The number of the node's latest block, without retries.
    pub(crate) async fn head_number_once(&self) -> Result<BlockNumber, NodeError> {
        self.with_retries(Operation::Head, 1, |_, upstream| async move { upstream.head_number().await }).await
    }

    /// The current heads of all endpoints. Endpoints that lag behind are avoided from now on.
    pub fn survey_heads(&self) -> BoxFuture<'_, HeadSurvey> {
        Box::pin(async move { self.failover.survey().await })
    }

    /// The node's `web3_clientVersion`.
    pub fn client_version(&self) -> BoxFuture<'_, Result<String, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { upstream.client_version().await };
            self.with_retries(Operation::Identity, 1, request).await
        })
    }

    /// Whether the node serves a chain for development, see [`crate::is_dev_chain`]. Asked once for each chain; an error if the
    /// node does not answer, and it is not known.
    pub fn is_dev_chain(&self) -> BoxFuture<'_, Result<bool, NodeError>> {
        Box::pin(self.detect_dev_chain())
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

    /// How long requests have gone without a response from any endpoint; None if the last one was answered.
    #[must_use]
    pub fn silent_for(&self) -> Option<Duration> {
        self.counters.silent_for()
    }

    /// The newest finalized block; None if the node has no notion of finality.
    pub fn finalized(&self) -> BoxFuture<'_, Result<Option<BlockNumber>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move {
                match upstream.header("finalized").await {
                    Ok(block) => Ok(block.map(|block| block.number)),
                    // The tag is unknown, or nothing is finalized yet: error messages vary between nodes.
                    Err(NodeError::Rpc { code, message, data, method }) => {
                        let error = NodeError::Rpc { method, code, message, data };
                        if error.rpc_kind() == Some(RpcErrorKind::Transient) { Err(error) } else { Ok(None) }
                    }
                    Err(error) => Err(error),
                }
            };
            // No retries: callers poll, and can continue without.
            self.with_retries(Operation::Finalized, 1, request).await
        })
    }

    /// A transaction's call data and logs; None if the node does not have it in a block.
    pub fn find_transaction(&self, hash: B256) -> BoxFuture<'_, Result<Option<TransactionDetail>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_transaction(&upstream, hash).await };
            self.with_retries(Operation::Transaction, self.retry.tries, request).await
        })
    }

    /// A transaction that is not indexed; None if the node does not know it.
    pub fn find_pending(&self, hash: B256) -> BoxFuture<'_, Result<Option<PendingTransaction>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_pending(&upstream, hash).await };
            self.with_retries(Operation::Transaction, self.retry.tries, request).await
        })
    }

    /// The call data and logs for many transactions, in the order of the hashes.
    pub fn find_transactions<'a>(
        &'a self,
        hashes: &'a [B256],
    ) -> BoxFuture<'a, Result<Vec<Option<TransactionDetail>>, NodeError>> {
        Box::pin(async move {
            let ask = |_, upstream: Upstream| async move { fetch_transactions(&upstream, hashes).await };
            self.with_retries(Operation::Transaction, self.retry.tries, ask).await
        })
    }

    /// Why a transaction failed; None if the node cannot tell.
    pub fn find_failure<'a>(
        &'a self,
        transaction: &'a Transaction,
        detail: &'a TransactionDetail,
    ) -> BoxFuture<'a, Result<Option<TransactionFailure>, NodeError>> {
        Box::pin(async move {
            let request =
                |_, upstream: Upstream| async move { failure::find_failure(&upstream, transaction, detail).await };
            self.with_retries(Operation::Calls, self.retry.tries, request).await
        })
    }

    /// Logs in chain order. The caller bounds the range: nodes reject long ones.
    pub fn logs<'a>(&'a self, filter: &'a LogFilter) -> BoxFuture<'a, Result<Vec<FoundLog>, NodeError>> {
        Box::pin(async move {
            let ask = |_, upstream: Upstream| async move { fetch_logs(&upstream, filter).await };
            self.with_retries(Operation::Logs, 2, ask).await
        })
    }

    /// The calls inside a transaction that move value or create contracts; None if the node does not support tracing.
    pub fn find_internal_calls(&self, hash: B256) -> BoxFuture<'_, Result<Option<Vec<InternalCall>>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { internal::trace_transaction(&upstream, hash).await };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    /// All calls of a transaction; None if the node does not support tracing.
    pub fn find_call_tree(&self, hash: B256) -> BoxFuture<'_, Result<Option<CallTree>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { call_tree::trace(&upstream, hash).await };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    /// What a transaction changed in the state of the chain; None if the node does not support such traces.
    pub fn find_state_changes(&self, hash: B256) -> BoxFuture<'_, Result<Option<StateChanges>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { state_changes::trace(&upstream, hash).await };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    /// The calls inside every transaction of a block that move value or create contracts, in order,
    /// with the transaction's hash if the node sends it. The timeout counts from when the request is sent.
    pub fn find_internal_calls_of_block(
        &self,
        number: BlockNumber,
        timeout: Duration,
    ) -> BoxFuture<'_, Result<Option<BlockCalls>, NodeError>> {
        Box::pin(async move {
            let request =
                |_, upstream: Upstream| async move { internal::trace_block(&upstream, number, timeout).await };
            self.with_retries(Operation::Trace, self.trace_tries(), request).await
        })
    }

    fn trace_tries(&self) -> u32 {
        self.retry.tries.min(TRACE_TRIES)
    }

    /// Sends a call with parameters as JSON text, once, and returns the result as JSON text, unchecked: for clients that ask
    /// for the node's own response. Only methods that read, or that send a signed transaction.
    pub fn pass<'a>(&'a self, method: &'static str, params: &'a str) -> BoxFuture<'a, Result<String, NodeError>> {
        Box::pin(async move {
            let ask = |_, upstream: Upstream| async move { raw::pass(&upstream, method, params).await };
            self.with_retries(Operation::Passed, 1, ask).await
        })
    }

    /// The header of the block at a height; None if the node does not have it (yet).
    pub fn find_block_ref(&self, number: BlockNumber) -> BoxFuture<'_, Result<Option<BlockRef>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move {
                let found = upstream.header(&format!("{number:#x}")).await?;
                match found {
                    Some(block) if block.number != number => Err(NodeError::invalid_response(
                        "eth_getBlockByNumber",
                        format_args!("requested block {number}, got block {}", block.number),
                    )),
                    found => Ok(found),
                }
            };
            self.with_retries(Operation::Header, self.retry.tries, request).await
        })
    }

    /// The block at a height with transactions, receipts and logs, all verified; None if the node does not have it (yet).
    pub fn find_block(&self, number: BlockNumber) -> BoxFuture<'_, Result<Option<FetchedBlock>, NodeError>> {
        self.find_block_first_in(self.lane, number)
    }

    /// The same for a block that is not the next one: it goes after those that are waited for, unless it has to be requested again.
    pub fn find_block_ahead(&self, number: BlockNumber) -> BoxFuture<'_, Result<Option<FetchedBlock>, NodeError>> {
        self.find_block_first_in(Lane::Ahead, number)
    }

    fn find_block_first_in(
        &self,
        first_lane: Lane,
        number: BlockNumber,
    ) -> BoxFuture<'_, Result<Option<FetchedBlock>, NodeError>> {
        Box::pin(async move {
            let is_retry = AtomicBool::new(false);
            let request = |_, upstream: Upstream| {
                let lane = if is_retry.swap(true, Ordering::Relaxed) { self.lane } else { first_lane };
                async move { fetch_block(upstream, number, lane).await }
            };
            self.with_retries(Operation::Block, self.retry.tries, request).await
        })
    }

    /// The code of many addresses at one block. Falls back to the node's head if the state is unavailable and the head is not
    /// older; [`Codes::block`] is the block that was used.
    pub fn codes(&self, addresses: Vec<Address>, at: BlockRef) -> BoxFuture<'_, Result<Codes, NodeError>> {
        Box::pin(async move {
            let addresses = &addresses;
            self.with_retries(Operation::Codes, self.retry.tries, |_, upstream| async move {
                fetch_codes(&upstream, addresses, at).await
            })
            .await
        })
    }

    /// Calls many contracts at one block. Falls back to the node's head if the state is unavailable and the head is not
    /// older; [`CallResults::block`] is the block that was used.
    pub fn calls(&self, calls: Vec<ContractCall>, at: CallBlock) -> BoxFuture<'_, Result<CallResults, NodeError>> {
        Box::pin(async move {
            let calls = &calls;
            self.with_retries(Operation::Calls, self.retry.tries, |_, upstream| async move {
                call_contracts(&upstream, calls, at).await
            })
            .await
        })
    }

    /// Balance, nonce and code of an account at a block. Falls back to the node's head if the state is unavailable;
    /// [`Account::block`] is the block that was used.
    pub fn account(&self, address: Address, at: BlockRef) -> BoxFuture<'_, Result<Account, NodeError>> {
        Box::pin(async move {
            self.with_retries(Operation::Account, self.retry.tries, |_, upstream| async move {
                fetch_account(&upstream, address, at).await
            })
            .await
        })
    }

    /// Balances of many accounts, in their order, at exactly this block: an error if the node does not have its state.
    pub fn balances<'a>(
        &'a self,
        addresses: &'a [Address],
        at: BlockRef,
    ) -> BoxFuture<'a, Result<Vec<U256>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_balances(&upstream, addresses, at).await };
            self.with_retries(Operation::Balances, self.retry.tries, request).await
        })
    }

    /// Executes an `eth_call`, within the request's time limit including retries.
    pub fn call<'a>(&'a self, request: &'a CallRequest) -> BoxFuture<'a, Result<CallOutcome, NodeError>> {
        Box::pin(async move {
            let outcome = self.with_retries(Operation::Calls, self.retry.tries, |_, upstream| async move {
                call::call(&upstream, request).await
            });
            tokio::time::timeout(request.timeout, outcome).await.unwrap_or_else(|_| {
                let endpoint = self.failover.upstream(self.failover.current()).name();
                Err(call::timed_out(endpoint, request.timeout))
            })
        })
    }

    /// The code of an address.
    pub fn code(&self, address: Address, at: CallBlock) -> BoxFuture<'_, Result<Bytes, NodeError>> {
        Box::pin(async move {
            self.with_retries(Operation::Codes, self.retry.tries, |_, upstream| async move {
                contract::fetch_code(&upstream, address, at).await
            })
            .await
        })
    }

    /// The code of many addresses, in their order.
    pub fn codes_of<'a>(
        &'a self,
        addresses: &'a [Address],
        at: CallBlock,
    ) -> BoxFuture<'a, Result<Vec<Bytes>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { contract::fetch_codes(&upstream, addresses, at).await };
            self.with_retries(Operation::Codes, self.retry.tries, request).await
        })
    }

    /// Storage slots of a contract, in the requested order.
    pub fn storage<'a>(
        &'a self,
        address: Address,
        slots: &'a [B256],
        at: CallBlock,
    ) -> BoxFuture<'a, Result<Vec<B256>, NodeError>> {
        Box::pin(async move {
            let request =
                |_, upstream: Upstream| async move { contract::fetch_storage(&upstream, address, slots, at).await };
            self.with_retries(Operation::Storage, self.retry.tries, request).await
        })
    }

    /// The init code of a contract: the transaction's input if the transaction created the contract directly, else the input
    /// of the inner create. None if unknown: the node does not trace, or no longer has the transaction in this block.
    pub fn find_creation_code(
        &self,
        contract: Address,
        creation: CreationId,
    ) -> BoxFuture<'_, Result<Option<Bytes>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move {
                creation::find_creation_code(&upstream, contract, creation).await
            };
            self.with_retries(Operation::Transaction, self.retry.tries, request).await
        })
    }

    /// Like [`Self::call`], at a chosen block and with the revert data.
    pub fn view<'a>(
        &'a self,
        request: &'a CallRequest,
        at: CallBlock,
    ) -> BoxFuture<'a, Result<ViewOutcome, NodeError>> {
        Box::pin(async move {
            let outcome = self.with_retries(Operation::Calls, self.retry.tries, |_, upstream| async move {
                view::call(&upstream, request, at).await
            });
            tokio::time::timeout(request.timeout, outcome).await.unwrap_or_else(|_| {
                let endpoint = self.failover.upstream(self.failover.current()).name();
                Err(call::timed_out(endpoint, request.timeout))
            })
        })
    }

    /// New heads from now on, starting with the current one.
    #[must_use]
    pub fn heads(&self) -> Heads {
        Heads::new(self.clone(), self.poll)
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

    /// Sends a request and retries it while that may help: on another endpoint immediately, on the same one after a backoff.
    async fn with_retries<T, F, Answer>(&self, operation: Operation, tries: u32, request: F) -> Result<T, NodeError>
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
                let outcome = match self.failover.admit(index).await {
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
