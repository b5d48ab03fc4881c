//! How many calls an endpoint was sent, how they ended, and how long they took.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use metrics::{Counter, Histogram};

use crate::{error::NodeError, rpc_method::RpcMethod};

domain::all_variants! {
    /// How a call ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum CallEnd {
        Ok,
        /// A JSON-RPC error.
        Rpc,
        /// The node refused the call because of a rate limit.
        Limited,
        HttpStatus,
        TimedOut,
        Unreachable,
        Invalid,
    }
}

impl CallEnd {
    fn of(error: &NodeError) -> Self {
        match error {
            NodeError::Rpc { .. } => Self::Rpc,
            NodeError::Limited { .. } => Self::Limited,
            NodeError::HttpStatus { .. } => Self::HttpStatus,
            NodeError::Silent { .. } | NodeError::TimedOut { .. } => Self::TimedOut,
            NodeError::Unreachable { .. }
            | NodeError::Dropped { .. }
            | NodeError::NoEndpoint
            | NodeError::Setup { .. } => Self::Unreachable,
            NodeError::InvalidResponse { .. }
            | NodeError::InvalidBlock { .. }
            | NodeError::WrongChain { .. }
            | NodeError::WrongBlock { .. }
            | NodeError::OtherGenesis { .. } => Self::Invalid,
        }
    }
}

/// Calls of one method.
#[derive(Debug)]
pub struct MethodMetrics {
    ends: [Counter; CallEnd::ALL.len()],
    /// From the request to the response; a batch counts once, for the method of its first call.
    pub latency: Histogram,
    /// In microseconds; 0 if unknown.
    usual_latency: AtomicU64,
}

impl MethodMetrics {
    fn new() -> Self {
        Self { ends: Default::default(), latency: Histogram::of_latencies(), usual_latency: AtomicU64::new(0) }
    }

    /// Moves the usual latency up by a fifth or down by an eighth, so that about two of three responses are faster: however long
    /// a few of them take, they do not count more than others.
    fn adapt(&self, latency: Duration) {
        let latency = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX).max(1);
        let adapted = match self.usual_latency.load(Ordering::Relaxed) {
            0 => latency,
            usual if latency > usual => (usual + usual / 5 + 1).min(latency),
            usual => (usual - usual / 8).max(latency),
        };
        self.usual_latency.store(adapted, Ordering::Relaxed);
    }

    /// The number of calls that ended in each way.
    pub fn ends(&self) -> impl Iterator<Item = (CallEnd, u64)> {
        CallEnd::ALL.into_iter().zip(self.ends.iter().map(Counter::get))
    }
}

/// Calls of one endpoint. Methods are added when they are first called; they are constants, so there are few.
#[derive(Debug, Default)]
pub(crate) struct CallMetrics(RwLock<BTreeMap<&'static str, Arc<MethodMetrics>>>);

impl CallMetrics {
    pub(crate) fn answered(&self, method: RpcMethod, latency: Duration) {
        let method = self.of(method);
        method.latency.record_duration(latency);
        method.adapt(latency);
    }

    /// A request that has waited for this long was repeated and is given up.
    pub(crate) fn overtaken(&self, method: RpcMethod, waited: Duration) {
        self.of(method).adapt(waited);
    }

    /// None before the first response.
    pub(crate) fn usual_latency(&self, method: RpcMethod) -> Option<Duration> {
        let micros = self.of(method).usual_latency.load(Ordering::Relaxed);
        (micros > 0).then(|| Duration::from_micros(micros))
    }

    pub(crate) fn ended<T>(&self, method: RpcMethod, outcome: &Result<T, NodeError>) {
        self.count(method, outcome.as_ref().err().map_or(CallEnd::Ok, CallEnd::of), 1);
    }

    /// Counts all calls of a batch that failed as a whole.
    pub(crate) fn failed(&self, method: RpcMethod, error: &NodeError, calls: usize) {
        self.count(method, CallEnd::of(error), calls as u64);
    }

    fn count(&self, method: RpcMethod, end: CallEnd, calls: u64) {
        if let Some(counter) = self.of(method).ends.get(end as usize) {
            counter.add(calls);
        }
    }

    fn of(&self, method: RpcMethod) -> Arc<MethodMetrics> {
        if let Some(known) = self.0.read().unwrap_or_else(PoisonError::into_inner).get(method.name()) {
            return Arc::clone(known);
        }
        let mut methods = self.0.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(methods.entry(method.name()).or_insert_with(|| Arc::new(MethodMetrics::new())))
    }

    pub(crate) fn methods(&self) -> Vec<(&'static str, Arc<MethodMetrics>)> {
        let methods = self.0.read().unwrap_or_else(PoisonError::into_inner);
        methods.iter().map(|(method, metrics)| (*method, Arc::clone(metrics))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_latency_ignores_some_late_responses_and_follows_all() {
        let calls = CallMetrics::default();
        assert_eq!(calls.usual_latency(RpcMethod::Call), None);
        let latencies = |millis: [u64; 5]| {
            for latency in [millis; 100].as_flattened() {
                calls.answered(RpcMethod::Call, Duration::from_millis(*latency));
            }
            calls.usual_latency(RpcMethod::Call).unwrap()
        };
        assert!(latencies([20, 15_000, 20, 20, 20]) < Duration::from_millis(40));
        assert!(latencies([500, 510, 490, 500, 500]) > Duration::from_millis(450));
        assert!(latencies([20, 15_000, 20, 20, 20]) < Duration::from_millis(40));
    }

    #[test]
    fn calls_are_counted_by_method_and_end() {
        let calls = CallMetrics::default();
        calls.ended(RpcMethod::Call, &Ok(()));
        let limited = NodeError::Limited {
            endpoint: String::new(),
            method: "eth_call",
            message: String::new(),
            retry_after: None,
        };
        calls.failed(RpcMethod::Call, &limited, 3);
        calls.answered(RpcMethod::GetLogs, Duration::from_millis(3));
        let methods = calls.methods();
        let [("eth_call", called), ("eth_getLogs", logs)] = &methods[..] else { panic!("{methods:?}") };
        let counted: Vec<_> = called.ends().filter(|(_, calls)| *calls > 0).collect();
        assert_eq!(counted, [(CallEnd::Ok, 1), (CallEnd::Limited, 3)]);
        assert_eq!((called.latency.count(), logs.latency.count()), (0, 1));
    }
}
