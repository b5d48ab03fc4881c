//! One endpoint with its connections, limits and capabilities.

mod batch_size;
mod batches;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::bytes::Bytes;
use domain::BlockRef;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::{sync::watch, time::Instant};

use self::batch_size::BatchSize;
use crate::{
    Endpoint, NodeConfig, NodeError,
    call_metrics::CallMetrics,
    decode::{ErrorObject, Quantity, ResponseError, decode},
    jitter::Jitter,
    limiter::{Limiter, Priority, Slot},
    method_breaker::MethodBreaker,
    rate::RateGate,
    rpc_error::{RpcErrorKind, kind_of},
    silence::{PROBE_TIMEOUT, Silence},
    status::Counters,
    transport::{Transport, TransportError},
    verify::Verifier,
};

/// Longer responses are decoded on the blocking pool.
const LONG_RESPONSE: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Upstream {
    name: String,
    transports: Transports,
    timeout: Duration,
    /// For blocks, headers and receipts.
    blocks: Limiter,
    /// For all other calls, so that blocks do not wait for slow ones.
    others: Limiter,
    rate: RateGate,
    silence: Silence,
    capabilities: Capabilities,
    next_id: AtomicU64,
    counters: Arc<Counters>,
    calls: CallMetrics,
    jitter: Arc<Jitter>,
    verifier: Arc<Verifier>,
}

/// Connections to the endpoint.
#[derive(Debug)]
pub(crate) struct Transports {
    pub(crate) main: Transport,
    /// For calls on which the node may close the connection: a socket that carries all calls must not be lost.
    pub(crate) separate: Option<Transport>,
}

/// What the node supports, detected at run time.
#[derive(Debug)]
pub(crate) struct Capabilities {
    pub(crate) block_receipts: MethodBreaker,
    pub(crate) lacks_state_by_hash: AtomicBool,
    /// `eth_call` of a program that makes many calls.
    pub(crate) lacks_packed_calls: AtomicBool,
    /// `eth_call` of a program that reads many balances.
    pub(crate) lacks_packed_balances: AtomicBool,
    /// Whether the newest block had no transactions.
    pub(crate) newest_is_empty: AtomicBool,
    /// `debug_traceBlockByNumber`.
    pub(crate) lacks_block_traces: AtomicBool,
    /// `debug_traceTransaction`.
    pub(crate) lacks_transaction_traces: AtomicBool,
    /// `debug_traceTransaction` with `prestateTracer`.
    pub(crate) lacks_state_traces: AtomicBool,
    /// `trace_*`.
    pub(crate) lacks_flat_traces: AtomicBool,
    batch: BatchSize,
}

/// A method and its parameters as JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    pub(crate) params: String,
    priority: Priority,
    /// Timeout once sent; None: the default.
    timeout: Option<Duration>,
}

impl Call {
    pub(crate) fn new(method: &'static str, params: impl Into<String>) -> Self {
        Self { method, params: params.into(), priority: Priority::High, timeout: None }
    }

    /// Sets a timeout. Missing it does not lower the concurrency limit while the node answers other calls.
    pub(crate) fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    pub(crate) fn with_priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    fn request(&self, id: u64) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{}}}"#, self.method, self.params)
    }
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
            rate: RateGate::new(config.calls_per_second, config.retry.longest_retry_after),
            silence: Silence::new(),
            capabilities: Capabilities {
                block_receipts: MethodBreaker::default(),
                lacks_state_by_hash: AtomicBool::new(false),
                lacks_packed_calls: AtomicBool::new(false),
                lacks_packed_balances: AtomicBool::new(false),
                newest_is_empty: AtomicBool::new(false),
                lacks_block_traces: AtomicBool::new(false),
                lacks_transaction_traces: AtomicBool::new(false),
                lacks_state_traces: AtomicBool::new(false),
                lacks_flat_traces: AtomicBool::new(false),
                batch: BatchSize::default(),
            },
            next_id: AtomicU64::new(1),
            counters,
            calls: CallMetrics::default(),
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

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    pub(crate) fn calls(&self) -> &CallMetrics {
        &self.calls
    }

    pub(crate) fn concurrency_limit(&self) -> usize {
        self.blocks.limit()
    }

    /// Requests per second; None while no limit is known.
    pub(crate) fn rate_limit(&self) -> Option<f64> {
        self.rate.rate()
    }

    /// A random number from 0 to 1.
    pub(crate) fn jitter(&self) -> f64 {
        self.jitter.fraction()
    }

    pub(crate) fn count_retry(&self) {
        Counters::count(&self.counters.retries);
    }

    /// One call; None if the result is null.
    pub(crate) async fn call<T>(&self, call: &Call) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let outcome = match self.request(call).await {
            Ok((response, sent)) => self.read(call, response, sent).await,
            Err(error) => Err(error),
        };
        self.calls.ended(call.method, &outcome);
        outcome
    }

    /// Sends one call, and returns the response and when the request was sent.
    fn request<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<(Bytes, Instant), NodeError>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.send(id, call, 1, call.request(id))
    }

    /// One slow call outside the concurrency limit, with a maximum response size; the caller bounds how many are in flight. None if
    /// the result is null.
    pub(crate) async fn call_unlimited_within<T>(
        &self,
        call: &Call,
        max_bytes: usize,
        timeout: Duration,
    ) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let outcome = match self.send_unlimited_within(call, max_bytes, timeout).await {
            Ok((response, sent)) => self.read(call, response, sent).await,
            Err(error) => Err(error),
        };
        self.calls.ended(call.method, &outcome);
        outcome
    }

    async fn send_unlimited_within(
        &self,
        call: &Call,
        max_bytes: usize,
        timeout: Duration,
    ) -> Result<(Bytes, Instant), NodeError> {
        let mut alerts = self.silence.alerts();
        let _ = self.rate.admit(1, Priority::Queued).await;
        let (id, sent) = (self.next_id.fetch_add(1, Ordering::Relaxed), Instant::now());
        Counters::count(&self.counters.requests);
        let transport = self.transports.separate.as_ref().unwrap_or(&self.transports.main);
        let response = transport.send_within(id, call.request(id), max_bytes);
        let timeout = timeout.min(self.timeout);
        let outcome = tokio::select! {
            biased;
            outcome = tokio::time::timeout(timeout, response) => outcome,
            () = alerts.found_silent() => return Err(self.silent(call.method, sent)),
        };
        let response = match outcome {
            Ok(outcome) => outcome.map_err(|error| self.transport_error(call.method, error, sent))?,
            Err(_) => return Err(self.timed_out(call.method, timeout)),
        };
        self.answered(call.method, sent);
        Ok((response, sent))
    }

    /// Decodes a response: the only part of a call that is compiled for each type of result.
    async fn read<T>(&self, call: &Call, response: Bytes, sent: Instant) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let result = if response.len() > LONG_RESPONSE {
            let decoded = tokio::task::spawn_blocking(move || decode(&response)).await;
            decoded.unwrap_or_else(|error| Err(ResponseError::Unreadable(error.to_string())))
        } else {
            decode(&response)
        };
        if result.is_ok() {
            self.rate.answered();
        }
        result.map_err(|error| self.response_error(call.method, error, sent))
    }

    /// Waits for a slot, sends a request with one or more calls, and waits for the response. Returns the response and when the
    /// request was sent.
    fn send<'a>(
        &'a self,
        id: u64,
        call: &'a Call,
        calls: usize,
        request: String,
    ) -> BoxFuture<'a, Result<(Bytes, Instant), NodeError>> {
        Box::pin(self.send_in_slot(id, call, calls, request))
    }

    async fn send_in_slot(
        &self,
        id: u64,
        call: &Call,
        calls: usize,
        request: String,
    ) -> Result<(Bytes, Instant), NodeError> {
        let (mut alerts, waiting_since) = (self.silence.alerts(), Instant::now());
        // Otherwise requests that wait for a slot at a silent endpoint would time out one after the other.
        let slot = tokio::select! {
            biased;
            slot = self.slot(call, calls) => slot,
            () = alerts.found_silent() => return Err(self.silent(call.method, waiting_since)),
        };
        let sent = slot.since();
        self.counters.record_request();
        let timeout = call.timeout.map_or(self.timeout, |timeout| timeout.min(self.timeout));
        let response = tokio::time::timeout(timeout, self.transports.main.send(id, request));
        let outcome = tokio::select! {
            biased;
            outcome = response => outcome,
            () = self.silence.confirmed(sent, || self.answers_probe()) => {
                slot.overloaded();
                self.transports.main.reset().await;
                return Err(self.silent(call.method, sent));
            }
            () = alerts.found_silent() => return Err(self.silent(call.method, sent)),
        };
        match outcome {
            Ok(Ok(response)) => {
                self.silence.record_response();
                self.counters.record_response();
                self.answered(call.method, sent);
                slot.answered();
                Ok((response, sent))
            }
            Ok(Err(error)) => {
                match &error {
                    TransportError::Unreachable(_) | TransportError::Dropped(_) => {
                        self.counters.reachable.store(false, Ordering::Relaxed);
                    }
                    TransportError::TooLong | TransportError::Status { .. } => self.silence.record_response(),
                }
                if matches!(error, TransportError::Status { status: 503, .. }) {
                    slot.overloaded();
                }
                Err(self.transport_error(call.method, error, sent))
            }
            Err(_) => {
                self.counters.reachable.store(false, Ordering::Relaxed);
                if call.timeout.is_none() || !self.silence.responded_since(sent) {
                    slot.overloaded();
                }
                Err(self.timed_out(call.method, timeout))
            }
        }
    }

    fn answered(&self, method: &'static str, sent: Instant) {
        let elapsed = sent.elapsed();
        self.calls.answered(method, elapsed);
        // With the id of the request that needed the call, if it was one.
        tracing::debug!(endpoint = %self.name, method, ?elapsed, "the node answered");
    }

    async fn slot(&self, call: &Call, calls: usize) -> Slot<'_> {
        let mut calls = calls;
        loop {
            let admitted = self.rate.admit(calls, call.priority).await;
            let slot = self.limiter_of(call.method).slot(call.priority).await;
            if self.rate.still_admits(admitted) {
                return slot;
            }
            // They have been counted.
            calls = 0;
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

    /// Whether the endpoint answers a cheap call.
    async fn answers_probe(&self) -> bool {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let request = Call::new("eth_chainId", "[]").request(id);
        let response = tokio::time::timeout(PROBE_TIMEOUT, self.transports.main.send(id, request)).await;
        matches!(response, Ok(Ok(_) | Err(TransportError::Status { .. })))
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
            TransportError::TooLong => NodeError::invalid_response(method, "the response is longer than allowed"),
            TransportError::Status { status: 429, retry_after, .. } => {
                self.counters.record_response();
                self.rate.refused(sent, retry_after);
                NodeError::Limited { endpoint, method, message: "HTTP status 429".to_owned(), retry_after }
            }
            // Some nodes and providers send a JSON-RPC error with an HTTP error status.
            TransportError::Status { status, retry_after, body } => match decode::<Quantity>(&body) {
                Err(ResponseError::Rpc(error)) => self.rpc_error(method, error, retry_after, sent),
                _ => NodeError::HttpStatus { endpoint, method, status },
            },
        }
    }

    fn response_error(&self, method: &'static str, error: ResponseError, sent: Instant) -> NodeError {
        match error {
            ResponseError::Unreadable(what) => NodeError::InvalidResponse { method, what },
            ResponseError::Rpc(error) => self.rpc_error(method, error, None, sent),
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

    /// Subscribes to new heads; None if this endpoint does not support it.
    pub(crate) async fn announced_heads(&self) -> Option<watch::Receiver<Option<BlockRef>>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let subscribed = tokio::time::timeout(self.timeout, self.transports.main.announced_heads(id)).await.ok()??;
        match subscribed {
            Ok(heads) => Some(heads),
            Err(error) => {
                tracing::debug!(endpoint = %self.name, ?error, "subscribing to new heads failed");
                None
            }
        }
    }

    pub(crate) fn announces_heads(&self) -> bool {
        !self.transports.main.takes_batches()
    }
}
