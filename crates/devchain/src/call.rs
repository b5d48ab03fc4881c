//! Calls and gas estimates: executions that do not change the state.

use alloy_eips::{eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{Address, Bytes, TxKind, U256};
use revm::{
    ExecuteEvm,
    context::{
        TxEnv,
        result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction},
    },
    context_interface::either::Either,
};

use crate::{
    evm::{self, ExecutionState},
    ledger::{Snapshot, StateUnavailable},
};

/// The gas limit of any call.
pub(crate) const CALL_GAS_CAP: u64 = 50_000_000;

/// A call that is executed but not mined, without fees.
#[derive(Debug, Clone, Default)]
pub struct Call {
    pub from: Address,
    pub to: TxKind,
    pub value: U256,
    pub data: Bytes,
    pub gas: Option<u64>,
    pub access_list: AccessList,
    pub authorizations: Vec<SignedAuthorization>,
}

impl Call {
    pub fn to(contract: Address, data: impl Into<Bytes>) -> Self {
        Self { to: TxKind::Call(contract), data: data.into(), ..Self::default() }
    }
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("execution reverted")]
    Reverted(Bytes),
    #[error("execution halted: {0:?}")]
    Halted(HaltReason),
    #[error("{0}")]
    Invalid(InvalidTransaction),
    #[error(transparent)]
    StateUnavailable(#[from] StateUnavailable),
}

/// The result of an execution.
struct Outcome {
    output: Bytes,
    gas_used: u64,
}

/// A call with the state that it runs on.
pub(crate) struct Simulation<'a> {
    pub(crate) chain_id: u64,
    pub(crate) snapshot: Snapshot,
    pub(crate) call: &'a Call,
}

impl Simulation<'_> {
    pub(crate) fn output(&self) -> Result<Bytes, CallError> {
        let gas = self.call.gas.unwrap_or(CALL_GAS_CAP).min(CALL_GAS_CAP);
        self.run(gas).map(|outcome| outcome.output)
    }

    /// The gas used with a high gas limit.
    pub(crate) fn gas_used(&self) -> Result<u64, CallError> {
        self.run(self.ceiling()).map(|outcome| outcome.gas_used)
    }

    /// The smallest gas limit with which the call succeeds.
    pub(crate) fn estimate(&self) -> Result<u64, CallError> {
        let mut enough = self.ceiling();
        let mut too_little = self.run(enough)?.gas_used.saturating_sub(1);
        // The gas used is usually enough, or slightly too little because of refunds and the 63/64 rule
        // for inner calls.
        let likely = (too_little + 1 + 2_300).saturating_mul(64) / 63;
        for guess in [too_little + 1, likely] {
            if guess <= too_little || guess >= enough {
                continue;
            }
            if self.suffices(guess)? {
                enough = guess;
                break;
            }
            too_little = guess;
        }
        while too_little + 1 < enough {
            let middle = too_little + (enough - too_little) / 2;
            if self.suffices(middle)? {
                enough = middle;
            } else {
                too_little = middle;
            }
        }
        Ok(enough)
    }

    fn ceiling(&self) -> u64 {
        let limit = self.snapshot.block.header.gas_limit;
        self.call.gas.unwrap_or(limit).min(limit)
    }

    fn suffices(&self, gas: u64) -> Result<bool, CallError> {
        match self.run(gas) {
            Ok(_) => Ok(true),
            Err(
                CallError::Reverted(_)
                | CallError::Halted(_)
                | CallError::Invalid(
                    InvalidTransaction::CallGasCostMoreThanGasLimit { .. }
                    | InvalidTransaction::GasFloorMoreThanGasLimit { .. },
                ),
            ) => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn run(&self, gas_limit: u64) -> Result<Outcome, CallError> {
        let state = ExecutionState { world: self.snapshot.world.clone(), ancestors: self.snapshot.ancestors.clone() };
        let block = evm::block_env(&self.snapshot.block.header);
        let result = evm::for_call(self.chain_id, block, state)
            .transact(self.transaction(gas_limit))
            .map_err(|error| match error {
                EVMError::Transaction(reason) => CallError::Invalid(reason),
                other => CallError::Invalid(InvalidTransaction::Str(other.to_string().into())),
            })?
            .result;
        let gas_used = result.gas().tx_gas_used();
        match result {
            ExecutionResult::Success { output, .. } => Ok(Outcome { output: output.into_data(), gas_used }),
            ExecutionResult::Revert { output, .. } => Err(CallError::Reverted(output)),
            ExecutionResult::Halt { reason, .. } => Err(CallError::Halted(reason)),
        }
    }

    fn transaction(&self, gas_limit: u64) -> TxEnv {
        let call = self.call;
        let mut transaction = TxEnv {
            caller: call.from,
            gas_limit,
            kind: call.to,
            value: call.value,
            data: call.data.clone(),
            chain_id: Some(self.chain_id),
            access_list: call.access_list.clone(),
            gas_price: 0,
            authorization_list: call.authorizations.iter().cloned().map(Either::Left).collect(),
            ..TxEnv::default()
        };
        // Fails only for a blob or set code transaction without recipient; the type then stays legacy.
        let _ = transaction.derive_tx_type();
        transaction
    }
}
