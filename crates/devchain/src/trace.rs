//! Traces: the transactions of a block are executed again on the state before it, with an inspector.

mod errors;
mod geth;
mod parity;
mod prestate;
mod recorder;

use std::convert::Infallible;

use alloy_consensus::Transaction;
use alloy_eips::BlockId;
use alloy_primitives::B256;
use revm::{
    ExecuteCommitEvm, InspectEvm,
    context::result::{EVMError, InvalidTransaction},
};

use self::{
    geth::{CallFrame, CallOptions},
    parity::{FlatCall, Position},
    prestate::{Prestate, PrestateOptions},
    recorder::Recorder,
};
use crate::{
    ArchiveError, DevChain, StateUnavailable,
    evm::{self, ExecutionState, InspectedEvm},
    ledger::BlockInput,
};

/// What to record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tracer {
    /// The tree of calls, in the format of geth.
    Calls(CallOptions),
    /// The accounts that the transaction read or changed, in the format of geth.
    Prestate(PrestateOptions),
    /// The calls as a list, in the format of Parity.
    Flat,
}

#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(crate) enum Trace {
    Calls(Option<Box<CallFrame>>),
    Prestate(Prestate),
    Flat(Vec<FlatCall>),
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
    evm: InspectedEvm<Recorder>,
}

impl Replay {
    fn new(chain_id: u64, mut input: BlockInput) -> Self {
        let state =
            ExecutionState { world: std::mem::take(&mut input.world), ancestors: std::mem::take(&mut input.ancestors) };
        let block = evm::block_env(&input.block.header);
        Self { evm: evm::for_trace(chain_id, block, state, Recorder::default()), input }
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
        let executed = self.evm.inspect(evm::tx_env(&mined.transaction), Recorder::default())?;
        let outermost = std::mem::take(&mut self.evm.inspector).into_outermost();
        let trace = match tracer {
            Tracer::Calls(options) => {
                // Unlike in the format of Parity, the gas of the outermost call is that of the transaction.
                let (gas_limit, gas_used) = (mined.transaction.gas_limit(), executed.result.gas().tx_gas_used());
                let frame = outermost.map(|call| geth::call_frame(call, options, gas_limit, gas_used));
                Trace::Calls(frame.map(Box::new))
            }
            Tracer::Prestate(options) => {
                let before = &self.evm.ctx.journaled_state.database.world;
                Trace::Prestate(options.trace(before, &executed.state))
            }
            Tracer::Flat => {
                let position = Position {
                    block_hash: block.hash(),
                    block_number: block.number(),
                    transaction_hash: mined.hash(),
                    transaction_position: index,
                };
                Trace::Flat(outermost.map(|call| parity::flat_calls(call, position)).unwrap_or_default())
            }
        };
        self.evm.commit(executed.state);
        Ok((mined.hash(), trace))
    }
}
