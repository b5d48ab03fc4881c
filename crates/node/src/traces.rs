//! Contracts created inside calls, from `debug_traceBlockByNumber`.

use std::sync::atomic::Ordering;

use domain::{FetchedBlock, InnerCreation};

use crate::{
    NodeError,
    decode::RawBlockTrace,
    upstream::{Call, Upstream},
};

const METHOD: &str = "debug_traceBlockByNumber";

/// None: the node does not support tracing.
pub(crate) async fn trace_block(
    upstream: &Upstream,
    block: &FetchedBlock,
) -> Result<Option<Vec<InnerCreation>>, NodeError> {
    if upstream.capabilities().lacks_block_traces.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let call = Call::new(METHOD, format!(r#"["{:#x}",{{"tracer":"callTracer"}}]"#, block.block.number));
    match upstream.call_unlimited::<RawBlockTrace>(&call).await {
        Ok(Some(trace)) => read(block, trace).map(Some),
        Ok(None) => Err(NodeError::invalid_response(METHOD, "null")),
        Err(error) if lacks_traces(&error) => {
            upstream.capabilities().lacks_block_traces.store(true, Ordering::Relaxed);
            tracing::info!(endpoint = upstream.name(), %error, "the node does not support tracing: creators of contracts created inside calls stay unknown");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The trace is requested by number and may be of another branch, so transaction hashes are compared.
fn read(block: &FetchedBlock, trace: RawBlockTrace) -> Result<Vec<InnerCreation>, NodeError> {
    if trace.0.len() != block.transactions.len() {
        let what = format_args!("{} traces for {} transactions", trace.0.len(), block.transactions.len());
        return Err(NodeError::invalid_response(METHOD, what));
    }
    let mut creations = Vec::new();
    for (trace, tx) in trace.0.into_iter().zip(&block.transactions) {
        if trace.tx_hash.is_some_and(|hash| hash != tx.hash) {
            return Err(NodeError::invalid_response(METHOD, format_args!("no trace for transaction {}", tx.hash)));
        }
        let untraced = || NodeError::invalid_response(METHOD, format_args!("transaction {} was not traced", tx.hash));
        let made = trace.made.ok_or_else(untraced)?;
        if tx.succeeded {
            let creation = |made: crate::decode::Made| InnerCreation {
                tx_index: tx.index,
                creator: made.creator,
                created: made.created,
            };
            creations.extend(made.into_iter().map(creation));
        }
    }
    Ok(creations)
}

/// Nodes without tracing report it in many ways, gateways by HTTP status.
pub(crate) fn lacks_traces(error: &NodeError) -> bool {
    match error {
        NodeError::HttpStatus { status, .. } => (400..500).contains(status) && *status != 408,
        error => error.lacks_method(),
    }
}
