//! One endpoint, and what was found out about it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use alloy_primitives::bytes::Bytes;
use domain::{BlockRef, ChainIdentity};
use futures::future::{join_all, try_join_all};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::{
    Endpoint, NodeConfig, NodeError,
    decode::{AnswerError, ErrorObject, Quantity, RawGenesis, RawHeader, decode, split_batch},
    limiter::{Limiter, Turn},
    rpc_error::{RpcErrorKind, kind_of},
    status::Counters,
    transport::{Transport, TransportError},
    verify::Verifier,
};

/// Calls in a batch at first; halved whenever the node finds a batch too big.
const FIRST_BATCH: usize = 50;
/// Answers longer than this are decoded off the threads that drive the connections.
const LONG_ANSWER: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Upstream {
    name: String,
    transport: Transport,
    timeout: Duration,
    limiter: Limiter,
    abilities: Abilities,
    next_id: AtomicU64,
    counters: Arc<Counters>,
    verifier: Arc<Verifier>,
}

/// What the node turned out to be able to do. Found out once, by trying.
#[derive(Debug)]
pub(crate) struct Abilities {
    pub(crate) lacks_block_receipts: AtomicBool,
    pub(crate) lacks_state_by_hash: AtomicBool,
    pub(crate) lacks_traces: AtomicBool,
    /// 1: no batches.
    batch: AtomicUsize,
}

/// A method and its parameters as JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) params: String,
    turn: Turn,
}

impl Call {
    pub(crate) fn new(method: &'static str, params: impl Into<String>) -> Self {
        Self { method, params: params.into(), turn: Turn::Next }
    }

    /// The same at another turn.
    pub(crate) fn at(self, turn: Turn) -> Self {
        Self { turn, ..self }
    }

    fn request(&self, id: u64) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{}}}"#, self.method, self.params)
    }
}

enum BatchFault {
    /// The node wants smaller batches, or none.
    TooBig,
    Failed(NodeError),
}

impl Upstream {
    pub(crate) fn new(
        endpoint: &Endpoint,
        config: &NodeConfig,
        counters: Arc<Counters>,
        verifier: Verifier,
    ) -> Result<Self, NodeError> {
        Ok(Self {
            name: endpoint.to_string(),
            transport: Transport::new(endpoint, config)?,
            timeout: config.request_timeout,
            limiter: Limiter::new(config.max_concurrency),
            abilities: Abilities {
                lacks_block_receipts: AtomicBool::new(false),
                lacks_state_by_hash: AtomicBool::new(false),
                lacks_traces: AtomicBool::new(false),
                batch: AtomicUsize::new(FIRST_BATCH),
            },
            next_id: AtomicU64::new(1),
            counters,
            verifier: Arc::new(verifier),
        })
    }

    pub(crate) fn verifier(&self) -> &Arc<Verifier> {
        &self.verifier
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    pub(crate) fn concurrency_limit(&self) -> usize {
        self.limiter.limit()
    }

    /// One call; None where the result is null.
    pub(crate) async fn call<T>(&self, call: &Call) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, sent) = self.send(id, call.method, call.request(id), call.turn).await?;
        self.read(call, answer, sent).await
    }

    /// One call that may take long and says nothing about how much else the node bears: it goes at once, and whoever
    /// makes it sees to it that there are few. None where the result is null.
    pub(crate) async fn call_aside<T>(&self, call: &Call) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let (id, sent) = (self.next_id.fetch_add(1, Ordering::Relaxed), Instant::now());
        Counters::count(&self.counters.requests);
        let outcome = tokio::time::timeout(self.timeout, self.transport.send(id, call.request(id))).await;
        let answer = match outcome {
            Ok(outcome) => outcome.map_err(|error| self.transport_error(call.method, error))?,
            Err(_) => return Err(self.timed_out(call.method)),
        };
        self.read(call, answer, sent).await
    }

    async fn read<T>(&self, call: &Call, answer: Bytes, sent: Instant) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let result = if answer.len() > LONG_ANSWER {
            let decoded = tokio::task::spawn_blocking(move || decode(&answer)).await;
            decoded.unwrap_or_else(|error| Err(AnswerError::Unreadable(error.to_string())))
        } else {
            decode(&answer)
        };
        result.map_err(|error| self.answer_error(call.method, error, sent))
    }

    /// Many calls in as few round trips as the node allows; each has an outcome of its own.
    pub(crate) async fn call_many<T>(&self, calls: &[Call]) -> Result<Vec<Result<Option<T>, NodeError>>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        loop {
            let size = self.abilities.batch.load(Ordering::Relaxed);
            if size <= 1 || calls.len() <= 1 || !self.transport.takes_batches() {
                return Ok(join_all(calls.iter().map(|call| self.call(call))).await);
            }
            match try_join_all(calls.chunks(size).map(|chunk| self.call_batch(chunk))).await {
                Ok(chunks) => return Ok(chunks.into_iter().flatten().collect()),
                Err(BatchFault::Failed(error)) => return Err(error),
                Err(BatchFault::TooBig) => {
                    let smaller = size.min(calls.len()) / 2;
                    self.abilities.batch.fetch_min(smaller.max(1), Ordering::Relaxed);
                    tracing::info!(endpoint = %self.name, calls = smaller.max(1), "the node wants smaller batches");
                }
            }
        }
    }

    async fn call_batch<T: DeserializeOwned>(
        &self,
        calls: &[Call],
    ) -> Result<Vec<Result<Option<T>, NodeError>>, BatchFault> {
        let Some(method) = calls.first().map(|call| call.method) else { return Ok(Vec::new()) };
        let first_id = self.next_id.fetch_add(calls.len() as u64, Ordering::Relaxed);
        let requests: Vec<String> = (first_id..).zip(calls).map(|(id, call)| call.request(id)).collect();
        let (answer, sent) = match self.send(first_id, method, format!("[{}]", requests.join(",")), Turn::Next).await {
            Ok(answered) => answered,
            Err(error) if refuses_batch(&error) => return Err(BatchFault::TooBig),
            Err(error) => return Err(BatchFault::Failed(error)),
        };
        let items = match split_batch(&answer, first_id, calls.len()) {
            Ok(items) => items,
            Err(AnswerError::Rpc(error)) if kind_of(&error) == RpcErrorKind::Limited => {
                return Err(BatchFault::Failed(self.answer_error(method, AnswerError::Rpc(error), sent)));
            }
            // An error for the whole batch, whatever its words, is about its being a batch.
            Err(AnswerError::Rpc(_)) => return Err(BatchFault::TooBig),
            Err(error) => return Err(BatchFault::Failed(self.answer_error(method, error, sent))),
        };
        if items.iter().any(|item| item.as_ref().is_err_and(|e| kind_of(e) == RpcErrorKind::BatchRefused)) {
            return Err(BatchFault::TooBig);
        }
        let outcomes = calls.iter().zip(items).map(|(call, item)| {
            let result = item.map_err(AnswerError::Rpc).and_then(|result| {
                sonic_rs::from_str(&result).map_err(|_| AnswerError::Unreadable("an unexpected result".to_owned()))
            });
            result.map_err(|error| self.answer_error(call.method, error, sent))
        });
        Ok(outcomes.collect())
    }

    /// Sends when it is its turn, and waits for the answer no longer than allowed. Tells the answer and when it was sent.
    async fn send(
        &self,
        id: u64,
        method: &'static str,
        request: String,
        turn: Turn,
    ) -> Result<(Bytes, Instant), NodeError> {
        let slot = self.limiter.slot(turn).await;
        let sent = slot.since();
        Counters::count(&self.counters.requests);
        let outcome = tokio::time::timeout(self.timeout, self.transport.send(id, request)).await;
        let reachable = !matches!(outcome, Err(_) | Ok(Err(TransportError::Unreachable(_))));
        self.counters.reachable.store(reachable, Ordering::Relaxed);
        match outcome {
            Ok(Ok(answer)) => {
                slot.answered();
                Ok((answer, sent))
            }
            Err(_) => {
                slot.overloaded();
                Err(self.timed_out(method))
            }
            Ok(Err(error)) => {
                let busy = matches!(error, TransportError::Status { status: 429 | 503, .. });
                let error = self.transport_error(method, error);
                if busy || matches!(error, NodeError::Limited { .. }) {
                    slot.overloaded();
                }
                Err(error)
            }
        }
    }

    fn timed_out(&self, method: &'static str) -> NodeError {
        NodeError::TimedOut { endpoint: self.name.clone(), method, timeout: self.timeout }
    }

    fn transport_error(&self, method: &'static str, error: TransportError) -> NodeError {
        let endpoint = self.name.clone();
        match error {
            TransportError::Unreachable(source) => NodeError::Unreachable { endpoint, source },
            TransportError::TooLong => NodeError::bad_answer(method, "longer than an answer may be"),
            TransportError::Status { status: 429, retry_after, .. } => {
                NodeError::Limited { endpoint, method, message: "HTTP status 429".to_owned(), retry_after }
            }
            // Some nodes and providers put an error of JSON-RPC under another status.
            TransportError::Status { status, retry_after, body } => match decode::<Quantity>(&body) {
                Err(AnswerError::Rpc(error)) => self.rpc_error(method, error, retry_after),
                _ => NodeError::HttpStatus { endpoint, method, status },
            },
        }
    }

    fn answer_error(&self, method: &'static str, error: AnswerError, sent: Instant) -> NodeError {
        match error {
            AnswerError::Unreadable(what) => NodeError::BadAnswer { method, what },
            AnswerError::Rpc(error) => {
                let error = self.rpc_error(method, error, None);
                if matches!(error, NodeError::Limited { .. }) {
                    self.limiter.overloaded(sent);
                }
                error
            }
        }
    }

    fn rpc_error(&self, method: &'static str, error: ErrorObject, retry_after: Option<Duration>) -> NodeError {
        match kind_of(&error) {
            RpcErrorKind::Limited => {
                NodeError::Limited { endpoint: self.name.clone(), method, message: error.message, retry_after }
            }
            _ => NodeError::Rpc { method, code: error.code, message: error.message, data: error.data },
        }
    }

    /// Which chain this endpoint serves.
    pub(crate) async fn identity(&self) -> Result<ChainIdentity, NodeError> {
        let chain_id = Call::new("eth_chainId", "[]");
        let genesis = Call::new("eth_getBlockByNumber", r#"["0x0",false]"#);
        let (chain_id, genesis) = tokio::join!(self.call::<Quantity>(&chain_id), self.call::<RawGenesis>(&genesis));
        let chain_id = chain_id?.ok_or_else(|| NodeError::bad_answer("eth_chainId", "null"))?.0;
        let genesis = genesis?.ok_or_else(|| NodeError::bad_answer("eth_getBlockByNumber", "no block 0"))?;
        if genesis.header.number.0 != 0 {
            return Err(NodeError::bad_answer("eth_getBlockByNumber", "asked for block 0, got another"));
        }
        if let Some(whole) = &genesis.whole {
            self.verifier.see_genesis(whole);
        }
        Ok(ChainIdentity { chain_id, genesis_hash: genesis.header.hash.0 })
    }

    /// The block that a number or a tag stands for, as JSON text.
    pub(crate) async fn header(&self, block: &str) -> Result<Option<BlockRef>, NodeError> {
        let call = Call::new("eth_getBlockByNumber", format!(r#"["{block}",false]"#));
        let header = self.call::<RawHeader>(&call).await?;
        Ok(header.map(|header| BlockRef { number: header.number.0, hash: header.hash.0 }))
    }

    pub(crate) async fn head(&self) -> Result<BlockRef, NodeError> {
        let head = self.header("latest").await?;
        let head = head.ok_or_else(|| NodeError::bad_answer("eth_getBlockByNumber", "no newest block"))?;
        self.verifier.evidence().see_head(head.number);
        Ok(head)
    }

    /// New heads as the node announces them; None where this endpoint cannot.
    pub(crate) async fn announced_heads(&self) -> Option<watch::Receiver<Option<BlockRef>>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let subscribed = tokio::time::timeout(self.timeout, self.transport.announced_heads(id)).await.ok()??;
        match subscribed {
            Ok(heads) => Some(heads),
            Err(error) => {
                tracing::debug!(endpoint = %self.name, ?error, "no announcements of new heads");
                None
            }
        }
    }

    pub(crate) fn announces_heads(&self) -> bool {
        !self.transport.takes_batches()
    }
}

/// A node or a gateway that turns a batch away by its status. Missing rights have nothing to do with batches.
fn refuses_batch(error: &NodeError) -> bool {
    match error {
        NodeError::HttpStatus { status, .. } => (400..500).contains(status) && !matches!(status, 401 | 403 | 404 | 408),
        NodeError::Rpc { .. } => true,
        _ => false,
    }
}
