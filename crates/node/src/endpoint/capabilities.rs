use std::sync::atomic::AtomicBool;

use crate::endpoint::{batch_size::BatchSize, breaker::MethodBreaker};

/// What the node supports, detected at run time.
#[derive(Debug, Default)]
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
    /// `eth_getBlockAccessList`.
    pub(crate) lacks_access_lists: AtomicBool,
    /// `trace_*`.
    pub(crate) lacks_flat_traces: AtomicBool,
    /// Calls in one batch.
    pub(super) batch: BatchSize,
}
