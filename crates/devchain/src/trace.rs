//! Traces: the transactions of a block are executed again on the state before it, with an inspector.

mod undefined_opcodes;

use std::convert::Infallible;

use alloy_consensus::Transaction;
use alloy_eips::BlockId;
use alloy_primitives::B256;
use alloy_rpc_types_eth::TransactionInfo;
use alloy_rpc_types_trace::{
    geth::{CallConfig, CallFrame, PreStateConfig, PreStateFrame},
    parity::LocalizedTransactionTrace,
};
use revm::{
    ExecuteCommitEvm, InspectEvm,
    context::result::{EVMError, InvalidTransaction},
};
use revm_inspectors::tracing::{TracingInspector, TracingInspectorConfig};
use undefined_opcodes::UndefinedOpcodes;

use crate::{
    ArchiveError, DevChain, StateUnavailable,
    evm::{self, ExecutionState, InspectedEvm},
    ledger::BlockInput,
};

/// What to record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tracer {
    /// The tree of calls, in the format of geth.
    Calls(CallConfig),
    /// The accounts that the transaction read or changed, in the format of geth.
    Prestate(PreStateConfig),
    /// The calls as a list, in the format of Parity.
    Flat,
}

#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Trace {
    Calls(Box<CallFrame>),
    Prestate(PreStateFrame),
    Flat(Vec<LocalizedTransactionTrace>),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TraceError {
    #[error("transaction not found")]
    UnknownTransaction,
    #[error(transparent)]
    StateUnavailable(#[from] StateUnavailable),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error("cannot execute the transaction again: {0}")]
    NotRepeatable(#[from] EVMError<Infallible, InvalidTransaction>),
}

type Inspector = (TracingInspector, UndefinedOpcodes);

impl DevChain {
    /// The traces of all transactions of a block, with their hashes.
    pub(crate) fn trace_block(&self, id: impl Into<BlockId>, tracer: Tracer) -> Result<Vec<(B256, Trace)>, TraceError> {
        let mut replay = Replay::new(self.chain_id(), self.block_input(id)?);
        (0..replay.input.block.transactions.len()).map(|index| replay.trace(index, tracer)).collect()
    }

    pub(crate) fn trace_transaction(&self, hash: B256, tracer: Tracer) -> Result<Trace, TraceError> {
        let found = self.find_receipt(hash)?.ok_or(TraceError::UnknownTransaction)?;
        let mut replay = Replay::new(self.chain_id(), self.block_input(found.block.hash())?);
        for index in 0..found.index {
            replay.skip(index)?;
        }
        Ok(replay.trace(found.index, tracer)?.1)
    }
}

/// Executes the transactions of a block again, in order.
struct Replay {
    input: BlockInput,
    evm: InspectedEvm<Inspector>,
}

impl Replay {
    fn new(chain_id: u64, mut input: BlockInput) -> Self {
        let state =
            ExecutionState { world: std::mem::take(&mut input.world), ancestors: std::mem::take(&mut input.ancestors) };
        let block = evm::block_env(&input.block.header);
        Self { evm: evm::for_trace(chain_id, block, state, Inspector::default()), input }
    }

    /// Executes a transaction without a trace.
    #[expect(clippy::indexing_slicing, reason = "callers pass the index of a transaction of the block")]
    fn skip(&mut self, index: usize) -> Result<(), TraceError> {
        let mined = &self.input.block.transactions[index];
        self.evm.transact_commit(evm::tx_env(&mined.transaction))?;
        Ok(())
    }

    #[expect(clippy::indexing_slicing, reason = "callers pass the index of a transaction of the block")]
    fn trace(&mut self, index: usize, tracer: Tracer) -> Result<(B256, Trace), TraceError> {
        let block = &self.input.block;
        let mined = &block.transactions[index];
        let config = match &tracer {
            Tracer::Calls(options) => TracingInspectorConfig::from_geth_call_config(options),
            Tracer::Prestate(options) => TracingInspectorConfig::from_geth_prestate_config(options),
            Tracer::Flat => TracingInspectorConfig::default_parity(),
        };
        let inspector = (TracingInspector::new(config), UndefinedOpcodes::default());
        let executed = self.evm.inspect(evm::tx_env(&mined.transaction), inspector)?;
        let (mut inspector, undefined) = std::mem::take(&mut self.evm.inspector);
        let trace = match tracer {
            Tracer::Calls(options) => {
                // In the format of Parity, the gas of the outermost call is without that of the transaction itself.
                inspector.set_transaction_gas_limit(mined.transaction.gas_limit());
                let gas_used = executed.result.gas().tx_gas_used();
                let mut outermost = inspector.geth_builder().geth_call_traces(options, gas_used);
                undefined.write_errors(&mut outermost, options.only_top_call.unwrap_or_default());
                Trace::Calls(Box::new(outermost))
            }
            Tracer::Prestate(options) => {
                let before = &self.evm.ctx.journaled_state.database;
                let traced = inspector.geth_builder().geth_prestate_traces(&executed, &options, before);
                Trace::Prestate(traced.unwrap_or_else(|never| match never {}))
            }
            Tracer::Flat => {
                let info = TransactionInfo {
                    hash: Some(mined.hash()),
                    index: Some(index as u64),
                    block_hash: Some(block.hash()),
                    block_number: Some(block.number()),
                    ..TransactionInfo::default()
                };
                Trace::Flat(inspector.into_parity_builder().into_localized_transaction_traces(info))
            }
        };
        self.evm.commit(executed.state);
        Ok((mined.hash(), trace))
    }
}
