use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use domain::{
    Account, Address, B256, BlockNumber, BlockRef, Bytes, ChainIdentity, CreationId, FetchedBlock, InnerCreation,
    TransactionDetail,
};

use crate::{
    BlockChecks, CallBlock, CallOutcome, CallRequest, Codes, ContractAnswers, ContractCall, Endpoint, HeadSurvey,
    Heads, NodeConfig, NodeError, NodeStatus, PollBounds, RetryPolicy, ViewOutcome,
    account::fetch_account,
    blocks::fetch_block,
    call,
    calls::call_contracts,
    codes::fetch_codes,
    contract, creation,
    error::Remedy,
    failover::Failover,
    jitter::Jitter,
    limiter::Turn,
    rpc_error::RpcErrorKind,
    standing::Operation,
    status::Counters,
    traces::trace_block,
    transaction::fetch_transaction,
    transport::{Exchange, Transport},
    upstream::{Transports, Upstream},
    verify::{Evidence, Verifier},
    view,
};

/// Speaks with the node. Cheap to clone; all clones share connections, limits and counters.
#[derive(Debug, Clone)]
pub struct NodeClient {
    failover: Arc<Failover>,
    counters: Arc<Counters>,
    evidence: Arc<Evidence>,
    retry: RetryPolicy,
    poll: PollBounds,
    jitter: Arc<Jitter>,
}

impl NodeClient {
    /// Opens nothing yet: the node may be down.
    pub fn new(config: NodeConfig) -> Result<Self, NodeError> {
        Self::with_transports(config, |_, endpoint, config| Transport::new(endpoint, config))
    }

    /// Asks nodes in this process, one for each endpoint of the configuration, which then only names them.
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
        // Fails where the process has chosen its cryptography already, and then that one is used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let counters = Arc::new(Counters::default());
        let evidence = Arc::new(Evidence::default());
        let upstream = |(index, endpoint): (usize, &Endpoint)| {
            let checks = match config.verify_blocks {
                BlockChecks::Cheap if index > 0 => BlockChecks::Full,
                checks => checks,
            };
            let verifier = Verifier::new(checks, Arc::clone(&evidence), endpoint.host());
            let aside = match endpoint {
                Endpoint::Http(_) => None,
                Endpoint::WebSocket(_) | Endpoint::Ipc(_) => Some(transport(index, endpoint, &config)?),
            };
            let transports = Transports { main: transport(index, endpoint, &config)?, aside };
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
        })
    }

    /// Which chain the node serves.
    pub async fn identity(&self) -> Result<ChainIdentity, NodeError> {
        let failover = &self.failover;
        self.persist(Operation::Identity, self.retry.tries, |index, _| async move { failover.identity(index).await })
            .await
    }

    /// The node's newest block.
    pub async fn head(&self) -> Result<BlockRef, NodeError> {
        self.persist(Operation::Head, self.retry.tries, |_, upstream| async move { upstream.head().await }).await
    }

    /// The node's newest block, asked for once: who polls comes again anyway.
    pub(crate) async fn head_once(&self) -> Result<BlockRef, NodeError> {
        self.persist(Operation::Head, 1, |_, upstream| async move { upstream.head().await }).await
    }

    /// The heads of all endpoints at this moment. Those that are behind are passed over from now on.
    pub async fn survey_heads(&self) -> HeadSurvey {
        self.failover.survey().await
    }

    /// What the node calls itself.
    pub async fn client_version(&self) -> Result<String, NodeError> {
        let ask = |_, upstream: Arc<Upstream>| async move { upstream.client_version().await };
        self.persist(Operation::Identity, 1, ask).await
    }

    /// How long requests have been without an answer of any endpoint; None where the newest was answered.
    #[must_use]
    pub fn unanswered_for(&self) -> Option<Duration> {
        self.counters.unanswered_for()
    }

    /// The newest block that the node holds for final; None where it knows of no such thing.
    pub async fn finalized(&self) -> Result<Option<BlockNumber>, NodeError> {
        let ask = |_, upstream: Arc<Upstream>| async move {
            match upstream.header("finalized").await {
                Ok(block) => Ok(block.map(|block| block.number)),
                // The tag is not known, or nothing is final yet: nodes have many words for it.
                Err(NodeError::Rpc { code, message, data, method }) => {
                    let error = NodeError::Rpc { method, code, message, data };
                    if error.rpc_kind() == Some(RpcErrorKind::Passing) { Err(error) } else { Ok(None) }
                }
                Err(error) => Err(error),
            }
        };
        // Whoever asks does so again and again, and can do without for a while.
        self.persist(Operation::Finalized, 1, ask).await
    }

    /// A transaction's call data and logs; None where the node does not have it in a block.
    pub async fn find_transaction(&self, hash: B256) -> Result<Option<TransactionDetail>, NodeError> {
        let ask = |_, upstream: Arc<Upstream>| async move { fetch_transaction(&upstream, hash).await };
        self.persist(Operation::Transaction, self.retry.tries, ask).await
    }

    /// The block at a height, by its header alone; None where the node does not have it (yet).
    pub async fn find_block_ref(&self, number: BlockNumber) -> Result<Option<BlockRef>, NodeError> {
        let ask = |_, upstream: Arc<Upstream>| async move {
            let found = upstream.header(&format!("{number:#x}")).await?;
            match found {
                Some(block) if block.number != number => Err(NodeError::bad_answer(
                    "eth_getBlockByNumber",
                    format_args!("asked for block {number}, got block {}", block.number),
                )),
                found => Ok(found),
            }
        };
        self.persist(Operation::Header, self.retry.tries, ask).await
    }

    /// The block at a height with transactions, receipts and logs, all checked; None where the node does not have it
    /// (yet).
    pub async fn find_block(&self, number: BlockNumber) -> Result<Option<FetchedBlock>, NodeError> {
        let stands_in_line = AtomicBool::new(true);
        let ask = |_, upstream: Arc<Upstream>| {
            // All blocks behind it wait for one that is asked for again.
            let turn = if stands_in_line.swap(false, Ordering::Relaxed) { Turn::InLine } else { Turn::Next };
            async move { fetch_block(upstream, number, turn).await }
        };
        self.persist(Operation::Block, self.retry.tries, ask).await
    }

    /// The contracts that other contracts made in a block, in the order of their making; None where the endpoint in use
    /// does not trace. Asked for once, and at once: a block can do without, whoever asks sees to it that there are few
    /// such questions under way, and nothing is said about the endpoint by a failure.
    pub async fn find_inner_creations(&self, block: &FetchedBlock) -> Result<Option<Vec<InnerCreation>>, NodeError> {
        let index = self.failover.pick(Operation::Trace, None);
        self.failover.admit(index).await?;
        trace_block(self.failover.upstream(index), block).await
    }

    /// The code at many addresses, all at one state. Where the node does not have the state that is asked for, at the
    /// node's head, if that is not older: [`Codes::block`] tells.
    pub async fn codes(&self, addresses: Vec<Address>, at: BlockRef) -> Result<Codes, NodeError> {
        let addresses = &addresses;
        self.persist(Operation::Codes, self.retry.tries, |_, upstream| async move {
            fetch_codes(&upstream, addresses, at).await
        })
        .await
    }

    /// Calls many contracts without leaving a trace, all at one state. Where the node does not have the state that is
    /// asked for, at the node's head, if that is not older: [`ContractAnswers::block`] tells.
    pub async fn calls(&self, calls: Vec<ContractCall>, at: CallBlock) -> Result<ContractAnswers, NodeError> {
        let calls = &calls;
        self.persist(Operation::Calls, self.retry.tries, |_, upstream| async move {
            call_contracts(&upstream, calls, at).await
        })
        .await
    }

    /// Balance, nonce and code of an account at a block. Where the node does not have the state of that block, at the
    /// node's head: [`Account::block`] tells.
    pub async fn account(&self, address: Address, at: BlockRef) -> Result<Account, NodeError> {
        self.persist(Operation::Account, self.retry.tries, |_, upstream| async move {
            fetch_account(&upstream, address, at).await
        })
        .await
    }

    /// Executes without leaving a trace. Waits no longer than the call allows, whatever the node does.
    pub async fn call(&self, request: &CallRequest) -> Result<CallOutcome, NodeError> {
        let asked = self.persist(Operation::Calls, self.retry.tries, |_, upstream| async move {
            call::call(&upstream, request).await
        });
        tokio::time::timeout(request.patience, asked).await.unwrap_or_else(|_| {
            let endpoint = self.failover.upstream(self.failover.current()).name();
            Err(call::timed_out(endpoint, request.patience))
        })
    }

    /// The code at an address.
    pub async fn code(&self, address: Address, at: CallBlock) -> Result<Bytes, NodeError> {
        self.persist(Operation::Codes, self.retry.tries, |_, upstream| async move {
            contract::fetch_code(&upstream, address, at).await
        })
        .await
    }

    /// The code at many addresses, in their order.
    pub async fn codes_of(&self, addresses: &[Address], at: CallBlock) -> Result<Vec<Bytes>, NodeError> {
        let ask = |_, upstream: Arc<Upstream>| async move { contract::fetch_codes(&upstream, addresses, at).await };
        self.persist(Operation::Codes, self.retry.tries, ask).await
    }

    /// What stands in some places of a contract's storage, in the order asked for.
    pub async fn storage(&self, address: Address, slots: &[B256], at: CallBlock) -> Result<Vec<B256>, NodeError> {
        let ask =
            |_, upstream: Arc<Upstream>| async move { contract::fetch_storage(&upstream, address, slots, at).await };
        self.persist(Operation::Storage, self.retry.tries, ask).await
    }

    /// The code that ran to create a contract: what the transaction brought where it made this very contract, and the code of
    /// the create inside it where another contract did. None where that is not known: the node does not trace, or no longer has
    /// the transaction in this block.
    pub async fn find_creation_code(
        &self,
        contract: Address,
        creation: CreationId,
    ) -> Result<Option<Bytes>, NodeError> {
        let ask = |_, upstream: Arc<Upstream>| async move {
            creation::find_creation_code(&upstream, contract, creation).await
        };
        self.persist(Operation::Transaction, self.retry.tries, ask).await
    }

    /// Calls a contract as [`Self::call`] does, at a state of choice, and tells what it gave when it reverts.
    pub async fn view(&self, request: &CallRequest, at: CallBlock) -> Result<ViewOutcome, NodeError> {
        let asked = self.persist(Operation::Calls, self.retry.tries, |_, upstream| async move {
            view::call(&upstream, request, at).await
        });
        tokio::time::timeout(request.patience, asked).await.unwrap_or_else(|_| {
            let endpoint = self.failover.upstream(self.failover.current()).name();
            Err(call::timed_out(endpoint, request.patience))
        })
    }

    /// New heads from now on, beginning with the present one.
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
            refused_answers: self.counters.refused_answers.load(Ordering::Relaxed),
            refused_block: self.evidence.refused_block(),
            unproven_blocks: self.evidence.unproven_blocks(),
        }
    }

    pub(crate) fn failover(&self) -> &Failover {
        &self.failover
    }

    /// Asks, and asks again as long as that may help: elsewhere at once where there is another endpoint, here after a
    /// pause.
    async fn persist<T, F, Answer>(&self, operation: Operation, tries: u32, ask: F) -> Result<T, NodeError>
    where
        F: Fn(usize, Arc<Upstream>) -> Answer,
        Answer: Future<Output = Result<T, NodeError>>,
    {
        let mut asked = Vec::new();
        let mut failed = None;
        for tried in 1.. {
            self.failover.probe_rested();
            let index = self.failover.pick(operation, failed);
            asked.push(index);
            let outcome = match self.failover.admit(index).await {
                Ok(()) => ask(index, Arc::clone(self.failover.upstream(index))).await,
                Err(error) => Err(error),
            };
            let error = match outcome {
                Ok(answer) => {
                    self.failover.succeeded(index, operation);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            self.failover.failed(index, operation, &error);
            if matches!(error, NodeError::BadAnswer { .. } | NodeError::InvalidBlock { .. }) {
                Counters::count(&self.counters.refused_answers);
                tracing::warn!(endpoint = self.failover.upstream(index).name(), %error, "an answer is refused");
            }
            failed = Some(index);
            let elsewhere = !asked.contains(&self.failover.pick(operation, failed));
            let pause = match error.remedy() {
                _ if tried >= tries => return Err(error),
                Remedy::GiveUp => return Err(error),
                Remedy::AskElsewhere if !elsewhere => return Err(error),
                _ if elsewhere => Duration::ZERO,
                _ => self.retry.pause_after(tried, &error, &self.jitter),
            };
            Counters::count(&self.counters.retries);
            tracing::debug!(%error, tried, ?pause, "asking the node again");
            tokio::time::sleep(pause).await;
        }
        Err(NodeError::NoEndpoint)
    }
}
