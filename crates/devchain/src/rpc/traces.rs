//! Traces in the formats of geth and Parity.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::B256;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    error::RpcError,
    handler::{Methods, typed},
    params::Params,
};
use crate::{
    DevChain, StateUnavailable,
    trace::{Trace, TraceError, Tracer},
};

pub(super) fn register(methods: &mut Methods) {
    methods.insert("debug_traceTransaction", typed(debug_trace_transaction));
    methods.insert("debug_traceBlockByNumber", typed(debug_trace_block_by_number));
    methods.insert("debug_traceBlockByHash", typed(debug_trace_block_by_hash));
    methods.insert("trace_transaction", typed(trace_transaction));
    methods.insert("trace_block", typed(trace_block));
}

/// Whether a method needs a node that traces.
#[must_use]
pub fn is_trace(method: &str) -> bool {
    method.starts_with("debug_trace") || method.starts_with("trace_")
}

/// A transaction in the trace of a block.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TracedTransaction {
    tx_hash: B256,
    result: Trace,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceOptions {
    tracer: Option<String>,
    tracer_config: Option<Value>,
}

fn debug_trace_transaction(chain: &DevChain, mut params: Params) -> Result<Trace, RpcError> {
    let hash: B256 = params.required(0, "transaction hash")?;
    let tracer = tracer_param(&mut params)?;
    Ok(chain.trace_transaction(hash, tracer)?)
}

fn debug_trace_block_by_number(chain: &DevChain, mut params: Params) -> Result<Vec<TracedTransaction>, RpcError> {
    let tag: BlockNumberOrTag = params.required(0, "block number")?;
    debug_trace_block(chain, tag, &mut params)
}

fn debug_trace_block_by_hash(chain: &DevChain, mut params: Params) -> Result<Vec<TracedTransaction>, RpcError> {
    let hash: B256 = params.required(0, "block hash")?;
    debug_trace_block(chain, hash, &mut params)
}

fn debug_trace_block(
    chain: &DevChain,
    id: impl Into<BlockId>,
    params: &mut Params,
) -> Result<Vec<TracedTransaction>, RpcError> {
    let traced = chain.trace_block(id, tracer_param(params)?)?;
    Ok(traced.into_iter().map(|(tx_hash, result)| TracedTransaction { tx_hash, result }).collect())
}

fn trace_transaction(chain: &DevChain, mut params: Params) -> Result<Option<Trace>, RpcError> {
    let hash: B256 = params.required(0, "transaction hash")?;
    unless_unknown(chain.trace_transaction(hash, Tracer::Flat))
}

/// One list for all transactions, and nothing for the genesis block.
fn trace_block(chain: &DevChain, mut params: Params) -> Result<Option<Vec<Value>>, RpcError> {
    let id: BlockId = params.required(0, "block")?;
    let traced = match chain.trace_block(id, Tracer::Flat) {
        Err(TraceError::StateUnavailable(StateUnavailable::Genesis)) => Ok(Vec::new()),
        traced => traced,
    };
    let Some(traced) = unless_unknown(traced)? else { return Ok(None) };
    let mut traces = Vec::new();
    for (_, trace) in traced {
        if let Value::Array(calls) = serde_json::to_value(trace)? {
            traces.extend(calls);
        }
    }
    Ok(Some(traces))
}

/// Parity answers null for an unknown block or transaction.
fn unless_unknown<T>(traced: Result<T, TraceError>) -> Result<Option<T>, RpcError> {
    match traced {
        Err(TraceError::UnknownTransaction | TraceError::StateUnavailable(StateUnavailable::UnknownBlock)) => Ok(None),
        traced => Ok(Some(traced?)),
    }
}

fn tracer_param(params: &mut Params) -> Result<Tracer, RpcError> {
    let options: TraceOptions = params.optional(1, "trace options")?.unwrap_or_default();
    match options.tracer.as_deref() {
        Some("callTracer") => Ok(Tracer::Calls(config(options.tracer_config)?)),
        Some("prestateTracer") => Ok(Tracer::Prestate(config(options.tracer_config)?)),
        Some(other) => Err(RpcError::invalid_params(format!(
            "tracer {other:?} is not supported, only callTracer and prestateTracer are"
        ))),
        None => Err(RpcError::invalid_params(
            "struct logs are not supported: set tracer to callTracer or prestateTracer".to_owned(),
        )),
    }
}

fn config<T: DeserializeOwned + Default>(given: Option<Value>) -> Result<T, RpcError> {
    let Some(given) = given.filter(|given| !given.is_null()) else { return Ok(T::default()) };
    serde_json::from_value(given)
        .map_err(|error| RpcError::invalid_params(format!("invalid argument 1, tracerConfig: {error}")))
}

impl From<TraceError> for RpcError {
    fn from(error: TraceError) -> Self {
        match error {
            // The text of geth.
            TraceError::StateUnavailable(StateUnavailable::Pruned { .. }) => {
                Self::server("required historical state unavailable (reexec=128)")
            }
            other => Self::server(other.to_string()),
        }
    }
}
