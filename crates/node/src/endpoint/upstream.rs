//! One endpoint with its connections, limits and capabilities.

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::bytes::Bytes;
use domain::BlockRef;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio::{sync::watch, time::Instant};

use crate::{
    address::Endpoint,
    config::NodeConfig,
    decode::{Decoded, Decoder, ResponseError},
    endpoint::{
        call::{Answered, Call, Request},
        capabilities::Capabilities,
        hedging::{self, HedgeBudget},
        jitter::Jitter,
        lane::Lane,
        limiter::{Limiter, Slot},
        metrics::CallMetrics,
        rate::RateGate,
        silence::{PROBE_TIMEOUT, Silence},
        status::Counters,
    },
    error::NodeError,
    rpc_error::{RpcErrorKind, kind_of},
    rpc_method::RpcMethod,
    transport::{Transport, TransportError},
    verify::BlockVerifier,
};

/// Longer responses are decoded on the blocking pool.
const LONG_RESPONSE: usize = 1 << 20;

/// An endpoint as one lane sees it. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Upstream {
    shared: Arc<Shared>,
    lane: Lane,
}

impl Deref for Upstream {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) name: String,
    pub(super) transports: Transports,
    timeout: Duration,
    limiters: Limiters,
    pub(super) rate: RateGate,
    hedges: HedgeBudget,
    silence: Silence,
    pub(super) capabilities: Capabilities,
    next_id: AtomicU64,
    pub(super) counters: Arc<Counters>,
    pub(super) metrics: CallMetrics,
    jitter: Arc<Jitter>,
    verifier: Arc<BlockVerifier>,
}

/// Separate limits, so that neither blocks nor users wait for calls of others.
#[derive(Debug)]
struct Limiters {
    users: Limiter,
    /// For blocks, headers and receipts.
    blocks: Limiter,
    /// For the contract calls that blocks wait for.
    calls: Limiter,
    background: Limiter,
}

/// Connections to the endpoint.
#[derive(Debug)]
pub(crate) struct Transports {
    pub(crate) main: Transport,
    /// For calls on which the node may close the connection: a socket that carries all calls must stay open.
    pub(crate) separate: Option<Transport>,
}

impl Upstream {
    pub(crate) fn new(
        endpoint: &Endpoint,
        config: &NodeConfig,
        transports: Transports,
        (counters, jitter): (Arc<Counters>, Arc<Jitter>),
        verifier: BlockVerifier,
    ) -> Self {
        let few = || Limiter::new(config.max_concurrency.div_ceil(4));
        let shared = Shared {
            name: endpoint.to_string(),
            transports,
            timeout: config.request_timeout,
            limiters: Limiters {
                users: few(),
                blocks: Limiter::new(config.max_concurrency),
                calls: few(),
                background: few(),
            },
            hedges: HedgeBudget::default(),
            rate: RateGate::new(config.calls_per_second, config.retry.longest_retry_after),
            silence: Silence::new(),
            capabilities: Capabilities::default(),
            next_id: AtomicU64::new(1),
            counters,
            metrics: CallMetrics::default(),
            jitter,
            verifier: Arc::new(verifier),
        };
        Self { shared: Arc::new(shared), lane: Lane::Block }
    }

    /// The same endpoint for calls of another lane.
    pub(crate) fn in_lane(&self, lane: Lane) -> Self {
        Self { shared: Arc::clone(&self.shared), lane }
    }

    pub(crate) fn lane(&self) -> Lane {
        self.lane
    }

    pub(crate) fn verifier(&self) -> &Arc<BlockVerifier> {
        &self.verifier
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    pub(crate) fn metrics(&self) -> &CallMetrics {
        &self.metrics
    }

    pub(crate) fn concurrency_limit(&self) -> usize {
        self.limiters.blocks.limit()
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
        typed(call, self.call_decoded(call, Decoder::of::<T>()).await?)
    }

    /// One call whose response is long and of a type that is often requested. Each such type has a parser of whole responses.
    pub(crate) async fn call_in_one_pass<T>(&self, call: &Call) -> Result<Option<T>, NodeError>
    where
        T: DeserializeOwned + Send + 'static,
    {
        typed(call, self.call_decoded(call, Decoder::in_one_pass::<T>()).await?)
    }

    /// The part of a call that does not depend on the type of the result, compiled once.
    pub(super) fn call_decoded<'a>(
        &'a self,
        call: &'a Call,
        decoder: Decoder,
    ) -> BoxFuture<'a, Result<Option<Decoded>, NodeError>> {
        Box::pin(async move {
            let text = |id| call.request(id);
            let request = Request { call, calls: 1, lane: call.lane.unwrap_or(self.lane), text: &text };
            let outcome = match self.send(request).await {
                Ok(Answered { response, sent, .. }) => self.read(call, response, sent, decoder).await,
                Err(error) => Err(error),
            };
            self.metrics.ended(call.method, &outcome);
            outcome
        })
    }

    async fn read(
        &self,
        call: &Call,
        response: Bytes,
        sent: Instant,
        decoder: Decoder,
    ) -> Result<Option<Decoded>, NodeError> {
        let result = if response.len() > LONG_RESPONSE {
            let decoded = tokio::task::spawn_blocking(move || decoder.read(&response)).await;
            decoded.unwrap_or_else(|error| Err(ResponseError::Unreadable(error.to_string())))
        } else {
            decoder.read(&response)
        };
        let is_refused = matches!(&result, Err(ResponseError::Rpc(error)) if kind_of(error) == RpcErrorKind::Limited);
        if !is_refused {
            self.rate.answered();
        }
        result.map_err(|error| self.response_error(call.method, error, sent))
    }

    /// Waits for a slot, sends a request, and waits for the response. A request that takes unusually long is sent again, and the first
    /// response counts.
    pub(super) fn send<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Answered, NodeError>> {
        self.send_with_hedges(request, if request.call.is_sent_once { 0 } else { hedging::MAX_HEDGES })
    }

    fn send_with_hedges<'a>(
        &'a self,
        request: Request<'a>,
        hedges: usize,
    ) -> BoxFuture<'a, Result<Answered, NodeError>> {
        let method = request.call.method;
        Box::pin(async move {
            let slot = self.slot_unless_silent(request).await?;
            let sent = Instant::now();
            let first = self.send_in_slot(slot, request);
            let Some(delay) = self.hedge_delay(request.call).filter(|_| hedges > 0) else { return first.await };
            let urgent = Request { lane: request.lane.of_retry(), ..request };
            let hedge = async {
                loop {
                    tokio::time::sleep(delay).await;
                    // Requests that end meanwhile allow one later.
                    if !self.hedges.take() {
                        continue;
                    }
                    self.count_retry();
                    if let Ok(answered) = self.send_with_hedges(urgent, hedges - 1).await {
                        return answered;
                    }
                }
            };
            tokio::select! {
                biased;
                outcome = first => outcome,
                answered = hedge => {
                    tracing::debug!(endpoint = %self.name, method = method.name(), "a hedged request was answered first");
                    self.metrics.overtaken(method, sent.elapsed());
                    Ok(answered)
                }
            }
        })
    }

    /// How long a response may take before the request is sent again; None: as long as it takes.
    fn hedge_delay(&self, call: &Call) -> Option<Duration> {
        // Tracing may not work at all, so it is repeated only if it did.
        let unknown = call.unlimited.is_none().then_some(hedging::FIRST_DELAY);
        self.metrics.usual_latency(call.method).map(hedging::delay).or(unknown)
    }

    /// None if the call is outside the concurrency limit.
    async fn slot_unless_silent(&self, request: Request<'_>) -> Result<Option<Slot<'_>>, NodeError> {
        let (mut alerts, waiting_since) = (self.silence.alerts(), Instant::now());
        // Otherwise requests that wait for a slot at a silent endpoint would time out one after the other.
        tokio::select! {
            biased;
            slot = self.slot(request) => Ok(slot),
            () = alerts.found_silent() => Err(self.silent(request.call.method, waiting_since)),
        }
    }

    async fn send_in_slot(&self, slot: Option<Slot<'_>>, request: Request<'_>) -> Result<Answered, NodeError> {
        let Request { call, calls, text, .. } = request;
        let mut alerts = self.silence.alerts();
        let (first_id, sent) = (self.next_id.fetch_add(calls as u64, Ordering::Relaxed), Instant::now());
        let timeout = call.timeout.map_or(self.timeout, |timeout| timeout.min(self.timeout));
        let Transports { main, separate } = &self.transports;
        let transport = separate.as_ref().filter(|_| slot.is_none()).unwrap_or(main);
        let max_bytes = call.unlimited.unwrap_or(usize::MAX);
        let response = tokio::time::timeout(timeout, transport.send_within(first_id, text(first_id), max_bytes));
        let is_slow = slot.is_none();
        if is_slow {
            Counters::count(&self.counters.requests);
        } else {
            self.counters.record_request();
        }
        let is_silent = async {
            // A slow call does not show it.
            if is_slow {
                std::future::pending().await
            }
            self.silence.confirmed(sent, || self.answers_probe()).await;
        };
        let outcome = tokio::select! {
            biased;
            outcome = response => outcome,
            () = is_silent => {
                if let Some(slot) = slot {
                    slot.overloaded();
                }
                main.reset().await;
                return Err(self.silent(call.method, sent));
            }
            () = alerts.found_silent() => return Err(self.silent(call.method, sent)),
        };
        if outcome.is_ok() {
            self.hedges.record_end();
        }
        match outcome {
            Ok(Ok(response)) => {
                self.silence.record_response();
                self.counters.record_response();
                self.answered(call.method, sent);
                if let Some(slot) = slot {
                    slot.answered();
                }
                Ok(Answered { response, first_id, sent })
            }
            Ok(Err(error)) => {
                match &error {
                    TransportError::Unreachable(_) | TransportError::Dropped(_) => {
                        self.counters.reachable.store(false, Ordering::Relaxed);
                    }
                    TransportError::TooLong | TransportError::Status { .. } => self.silence.record_response(),
                }
                if matches!(error, TransportError::Status { status: 503, .. })
                    && let Some(slot) = slot
                {
                    slot.overloaded();
                }
                Err(self.transport_error(call.method, error, sent))
            }
            Err(_) => {
                if let Some(slot) = slot {
                    self.counters.reachable.store(false, Ordering::Relaxed);
                    if call.timeout.is_none() || !self.silence.responded_since(sent) {
                        slot.overloaded();
                    }
                }
                Err(self.timed_out(call.method, timeout))
            }
        }
    }

    fn answered(&self, method: RpcMethod, sent: Instant) {
        let elapsed = sent.elapsed();
        self.metrics.answered(method, elapsed);
        // With the id of the request that needed the call, if it was one.
        tracing::debug!(endpoint = %self.name, method = method.name(), ?elapsed, "the node answered");
    }

    async fn slot(&self, request: Request<'_>) -> Option<Slot<'_>> {
        let Request { call, mut calls, lane, .. } = request;
        loop {
            let permit = self.rate.acquire(calls, lane).await;
            let slot = match call.unlimited {
                Some(_) => None,
                None => Some(self.limiter(lane, call.method).slot(lane).await),
            };
            if self.rate.is_valid(permit) {
                return slot;
            }
            // They have been counted.
            calls = 0;
        }
    }

    fn limiter(&self, lane: Lane, method: RpcMethod) -> &Limiter {
        match (lane, method) {
            (Lane::User, _) => &self.limiters.users,
            (Lane::Background, _) => &self.limiters.background,
            (
                Lane::Block | Lane::Ahead,
                RpcMethod::ChainId
                | RpcMethod::GetBlockByNumber
                | RpcMethod::GetBlockReceipts
                | RpcMethod::GetTransactionReceipt,
            ) => &self.limiters.blocks,
            (Lane::Block | Lane::Ahead, _) => &self.limiters.calls,
        }
    }

    /// Whether the endpoint answers a cheap call.
    async fn answers_probe(&self) -> bool {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let request = Call::new(RpcMethod::ChainId, "[]").request(id);
        let response = tokio::time::timeout(PROBE_TIMEOUT, self.transports.main.send(id, request)).await;
        matches!(response, Ok(Ok(_) | Err(TransportError::Status { .. })))
    }

    /// Subscribes to new heads; None if this endpoint does not support it.
    pub(crate) async fn subscribe_to_heads(&self) -> Option<watch::Receiver<Option<BlockRef>>> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let subscribed =
            tokio::time::timeout(self.timeout, self.transports.main.subscribe_to_heads(id)).await.ok()??;
        match subscribed {
            Ok(heads) => Some(heads),
            Err(error) => {
                tracing::debug!(endpoint = %self.name, ?error, "subscribing to new heads failed");
                None
            }
        }
    }

    pub(crate) fn supports_subscriptions(&self) -> bool {
        !self.transports.main.takes_batches()
    }
}

/// The result of a call as the type that its decoder made.
pub(super) fn typed<T: 'static>(call: &Call, decoded: Option<Decoded>) -> Result<Option<T>, NodeError> {
    let value = decoded.map(|decoded| decoded.downcast::<T>().map(|value| *value)).transpose();
    value.map_err(|_| NodeError::invalid_response(call.method, "unexpected type of result"))
}
