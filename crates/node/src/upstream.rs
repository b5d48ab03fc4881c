//! One endpoint, and what was found out about it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use alloy_primitives::bytes::Bytes;
use domain::BlockRef;
use futures::future::{join_all, try_join_all};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::{
    Endpoint, NodeConfig, NodeError,
    ability::Ability,
    decode::{AnswerError, ErrorObject, Quantity, decode, split_batch},
    jitter::Jitter,
    limiter::{Limiter, Slot, Turn},
    rate::RateGate,
    rpc_error::{RpcErrorKind, kind_of},
    silence::{PROBE_TIMEOUT, Silence},
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
    transports: Transports,
    timeout: Duration,
    /// For blocks, headers and receipts.
    blocks: Limiter,
    /// For all other calls: while they hang, blocks do not wait for them.
    others: Limiter,
    rate: RateGate,
    silence: Silence,
    abilities: Abilities,
    next_id: AtomicU64,
    counters: Arc<Counters>,
    jitter: Arc<Jitter>,
    verifier: Arc<Verifier>,
}

/// The ways to the endpoint.
#[derive(Debug)]
pub(crate) struct Transports {
    pub(crate) main: Transport,
    /// For calls that the node may answer by closing the connection: where one connection carries all calls, these have
    /// one of their own.
    pub(crate) aside: Option<Transport>,
}

/// What the node turned out to be able to do. Found out once, by trying.
#[derive(Debug)]
pub(crate) struct Abilities {
    pub(crate) block_receipts: Ability,
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
    /// For its answer, once it was sent; None: as long as for any other.
    patience: Option<Duration>,
}

impl Call {
    pub(crate) fn new(method: &'static str, params: impl Into<String>) -> Self {
        Self { method, params: params.into(), turn: Turn::Next, patience: None }
    }

    /// The same, but an answer that takes longer is not waited for. It says nothing about what else the node bears.
    pub(crate) fn within(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
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
        transports: Transports,
        (counters, jitter): (Arc<Counters>, Arc<Jitter>),
        verifier: Verifier,
    ) -> Self {
        Self {
            name: endpoint.to_string(),
            transports,
            timeout: config.request_timeout,
            blocks: Limiter::new(config.max_concurrency),
            others: Limiter::new(config.max_concurrency.div_ceil(4)),
            rate: RateGate::new(config.retry.longest_retry_after),
            silence: Silence::new(),
            abilities: Abilities {
                block_receipts: Ability::default(),
                lacks_state_by_hash: AtomicBool::new(false),
                lacks_traces: AtomicBool::new(false),
                batch: AtomicUsize::new(FIRST_BATCH),
            },
            next_id: AtomicU64::new(1),
            counters,
            jitter,
            verifier: Arc::new(verifier),
        }
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
        self.blocks.limit()
    }

    /// Requests a second; None while no limit is known.
    pub(crate) fn rate_limit(&self) -> Option<f64> {
        self.rate.rate()
    }

    /// A share of a pause, from 0 to 1.
    pub(crate) fn jitter(&self) -> f64 {
        self.jitter.fraction()
    }

    /// A call is made again.
    pub(crate) fn count_retry(&self) {
        Counters::count(&self.counters.retries);
    }

    /// One call; None where the result is null.
    pub(crate) async fn call<T>(&self, call: &Call) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (answer, sent) = self.send(id, call, call.request(id)).await?;
        self.read(call, answer, sent).await
    }

    /// One call that may take long and says nothing about how much else the node bears: it goes at once, and whoever
    /// makes it sees to it that there are few. None where the result is null.
    pub(crate) async fn call_aside<T>(&self, call: &Call) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        self.call_aside_within(call, usize::MAX, self.timeout).await
    }

    /// The same, of an answer of so many bytes at most that comes within a time.
    pub(crate) async fn call_aside_within<T>(
        &self,
        call: &Call,
        most_bytes: usize,
        patience: Duration,
    ) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let mut verdicts = self.silence.verdicts();
        let _ = self.rate.admit(Turn::InLine).await;
        let (id, sent) = (self.next_id.fetch_add(1, Ordering::Relaxed), Instant::now());
        Counters::count(&self.counters.requests);
        let transport = self.transports.aside.as_ref().unwrap_or(&self.transports.main);
        let answer = transport.send_within(id, call.request(id), most_bytes);
        let patience = patience.min(self.timeout);
        let outcome = tokio::select! {
            biased;
            outcome = tokio::time::timeout(patience, answer) => outcome,
            () = verdicts.found_silent() => return Err(self.silent(call.method, sent)),
        };
        let answer = match outcome {
            Ok(outcome) => outcome.map_err(|error| self.transport_error(call.method, error, sent))?,
            Err(_) => return Err(self.timed_out(call.method, patience)),
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
        if result.is_ok() {
            self.rate.answered();
        }
        result.map_err(|error| self.answer_error(call.method, error, sent))
    }

    /// Many calls in as few round trips as the node allows; each has an outcome of its own.
    pub(crate) async fn call_many<T>(&self, calls: &[Call]) -> Result<Vec<Result<Option<T>, NodeError>>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        loop {
            let size = self.abilities.batch.load(Ordering::Relaxed);
            if size <= 1 || calls.len() <= 1 || !self.transports.main.takes_batches() {
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
        let Some(first) = calls.first() else { return Ok(Vec::new()) };
        let method = first.method;
        let first_id = self.next_id.fetch_add(calls.len() as u64, Ordering::Relaxed);
        let requests: Vec<String> = (first_id..).zip(calls).map(|(id, call)| call.request(id)).collect();
        let (answer, sent) = match self.send(first_id, first, format!("[{}]", requests.join(","))).await {
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
        self.rate.answered();
        let outcomes = calls.iter().zip(items).map(|(call, item)| {
            let result = item.map_err(AnswerError::Rpc).and_then(|result| {
                sonic_rs::from_str(&result).map_err(|_| AnswerError::Unreadable("an unexpected result".to_owned()))
            });
            result.map_err(|error| self.answer_error(call.method, error, sent))
        });
        Ok(outcomes.collect())
    }

    /// Sends when it is its turn, and waits for the answer no longer than allowed. Tells the answer and when it was sent.
    async fn send(&self, id: u64, call: &Call, request: String) -> Result<(Bytes, Instant), NodeError> {
        let (mut verdicts, waiting_since) = (self.silence.verdicts(), Instant::now());
        // Those that wait for a slot at a silent endpoint would otherwise find out one after the other.
        let slot = tokio::select! {
            biased;
            slot = self.slot(call) => slot,
            () = verdicts.found_silent() => return Err(self.silent(call.method, waiting_since)),
        };
        let sent = slot.since();
        self.counters.asked();
        let patience = call.patience.map_or(self.timeout, |patience| patience.min(self.timeout));
        let answer = tokio::time::timeout(patience, self.transports.main.send(id, request));
        let outcome = tokio::select! {
            biased;
            outcome = answer => outcome,
            () = self.silence.is_certain(sent, || self.answers_probe()) => {
                slot.overloaded();
                self.transports.main.reset().await;
                return Err(self.silent(call.method, sent));
            }
            () = verdicts.found_silent() => return Err(self.silent(call.method, sent)),
        };
        match outcome {
            Ok(Ok(answer)) => {
                self.silence.ended();
                self.counters.answered();
                slot.answered();
                Ok((answer, sent))
            }
            Ok(Err(error)) => {
                match &error {
                    TransportError::Unreachable(_) | TransportError::Dropped(_) => {
                        self.counters.reachable.store(false, Ordering::Relaxed);
                    }
                    TransportError::TooLong | TransportError::Status { .. } => self.silence.ended(),
                }
                if matches!(error, TransportError::Status { status: 503, .. }) {
                    slot.overloaded();
                }
                Err(self.transport_error(call.method, error, sent))
            }
            Err(_) => {
                self.counters.reachable.store(false, Ordering::Relaxed);
                if call.patience.is_none() || !self.silence.heard_since(sent) {
                    slot.overloaded();
                }
                Err(self.timed_out(call.method, patience))
            }
        }
    }

    /// Waits until the request may be sent.
    async fn slot(&self, call: &Call) -> Slot<'_> {
        loop {
            let admitted = self.rate.admit(call.turn).await;
            let slot = self.limiter_of(call.method).slot(call.turn).await;
            if self.rate.still_admits(admitted) {
                return slot;
            }
        }
    }

    fn limiter_of(&self, method: &str) -> &Limiter {
        match method {
            "eth_chainId" | "eth_getBlockByNumber" | "eth_getBlockReceipts" | "eth_getTransactionReceipt" => {
                &self.blocks
            }
            _ => &self.others,
        }
    }

    /// Whether the endpoint answers the cheapest of all calls.
    async fn answers_probe(&self) -> bool {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let request = Call::new("eth_chainId", "[]").request(id);
        let answer = tokio::time::timeout(PROBE_TIMEOUT, self.transports.main.send(id, request)).await;
        matches!(answer, Ok(Ok(_) | Err(TransportError::Status { .. })))
    }

    fn silent(&self, method: &'static str, since: Instant) -> NodeError {
        self.counters.reachable.store(false, Ordering::Relaxed);
        NodeError::Silent { endpoint: self.name.clone(), method, waited: since.elapsed() }
    }

    fn timed_out(&self, method: &'static str, timeout: Duration) -> NodeError {
        NodeError::TimedOut { endpoint: self.name.clone(), method, timeout }
    }

    fn transport_error(&self, method: &'static str, error: TransportError, sent: Instant) -> NodeError {
        let endpoint = self.name.clone();
        match error {
            TransportError::Unreachable(source) => NodeError::Unreachable { endpoint, source },
            TransportError::Dropped(source) => NodeError::Dropped { endpoint, method, source },
            TransportError::TooLong => NodeError::bad_answer(method, "longer than an answer may be"),
            TransportError::Status { status: 429, retry_after, .. } => {
                self.counters.answered();
                self.rate.refused(sent, retry_after);
                NodeError::Limited { endpoint, method, message: "HTTP status 429".to_owned(), retry_after }
            }
            // Some nodes and providers put an error of JSON-RPC under another status.
            TransportError::Status { status, retry_after, body } => match decode::<Quantity>(&body) {
                Err(AnswerError::Rpc(error)) => self.rpc_error(method, error, retry_after, sent),
                _ => NodeError::HttpStatus { endpoint, method, status },
            },
        }
    }

    fn answer_error(&self, method: &'static str, error: AnswerError, sent: Instant) -> NodeError {
        match error {
            AnswerError::Unreadable(what) => NodeError::BadAnswer { method, what },
            AnswerError::Rpc(error) => self.rpc_error(method, error, None, sent),
        }
    }

    fn rpc_error(
        &self,
        method: &'static str,
        error: ErrorObject,
        retry_after: Option<Duration>,
        sent: Instant,
    ) -> NodeError {
        match kind_of(&error) {
            RpcErrorKind::Limited => {
                self.rate.refused(sent, retry_after);
                NodeError::Limited { endpoint: self.name.clone(), method, message: error.message, retry_after }
            }
            _ => NodeError::Rpc { method, code: error.code, message: error.message, data: error.data },
        }
    }

    /// New heads as the node announces them; None where this endpoint cannot.
    pub(crate) async fn announced_heads(&self) -> Option<watch::Receiver<Option<BlockRef>>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let subscribed = tokio::time::timeout(self.timeout, self.transports.main.announced_heads(id)).await.ok()??;
        match subscribed {
            Ok(heads) => Some(heads),
            Err(error) => {
                tracing::debug!(endpoint = %self.name, ?error, "no announcements of new heads");
                None
            }
        }
    }

    pub(crate) fn announces_heads(&self) -> bool {
        !self.transports.main.takes_batches()
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
