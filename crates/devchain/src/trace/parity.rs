//! The calls as a list, in the format of Parity. Calls of precompiles are left out.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use revm::interpreter::InstructionResult;
use serde::Serialize;

use super::{
    errors,
    recorder::{CallKind, RecordedCall, Selfdestruct},
};

/// Where the transaction is.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Position {
    pub(super) block_hash: B256,
    pub(super) block_number: u64,
    pub(super) transaction_hash: B256,
    pub(super) transaction_position: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FlatCall {
    action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    result: Option<Outcome>,
    subtraces: usize,
    trace_address: Vec<usize>,
    #[serde(flatten)]
    position: Position,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Action {
    Call { from: Address, call_type: &'static str, gas: U64, input: Bytes, to: Option<Address>, value: U256 },
    Create { from: Address, gas: U64, init: Bytes, value: U256, creation_method: &'static str },
    Selfdestruct { address: Address, balance: U256, refund_address: Address },
}

#[derive(Debug, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Outcome {
    Call { gas_used: U64, output: Bytes },
    Create { address: Option<Address>, code: Bytes, gas_used: U64 },
}

pub(super) fn flat_calls(outermost: RecordedCall, position: Position) -> Vec<FlatCall> {
    let mut list = Vec::new();
    append(outermost, Vec::new(), position, &mut list);
    list
}

/// Appends a call and those inside it. The depth is limited by the EVM.
fn append(call: RecordedCall, trace_address: Vec<usize>, position: Position, list: &mut Vec<FlatCall>) {
    let error = errors::of_parity(&call);
    let calls: Vec<RecordedCall> = call.calls.into_iter().filter(|inner| !inner.is_precompile).collect();
    let (gas, gas_used) = (U64::from(call.gas_limit), U64::from(call.gas_used));
    let result = if call.result == InstructionResult::Revert || (error.is_none() && !call.kind.is_creation()) {
        Some(Outcome::Call { gas_used, output: call.output })
    } else if error.is_none() {
        Some(Outcome::Create { address: call.to, code: call.output, gas_used })
    } else {
        None
    };
    let (kind, name) = match call.kind {
        CallKind::Call => ("call", "call"),
        CallKind::CallCode => ("call", "callcode"),
        CallKind::DelegateCall => ("call", "delegatecall"),
        CallKind::StaticCall => ("call", "staticcall"),
        CallKind::Create => ("create", "create"),
        CallKind::Create2 => ("create", "create2"),
    };
    let (from, value) = (call.from, call.value);
    let action = if call.kind.is_creation() {
        Action::Create { from, gas, init: call.input, value, creation_method: name }
    } else {
        Action::Call { from, call_type: name, gas, input: call.input, to: call.to, value }
    };
    let inner_address = |index| trace_address.iter().copied().chain([index]).collect::<Vec<usize>>();
    let count = calls.len();
    let subtraces = count + usize::from(call.selfdestruct.is_some());
    list.push(FlatCall { action, error, result, subtraces, trace_address: trace_address.clone(), position, kind });
    for (index, inner) in calls.into_iter().enumerate() {
        append(inner, inner_address(index), position, list);
    }
    list.extend(call.selfdestruct.map(|ended| selfdestruct(ended, inner_address(count), position)));
}

/// A call of its own, after those of the contract.
fn selfdestruct(ended: Selfdestruct, trace_address: Vec<usize>, position: Position) -> FlatCall {
    let action =
        Action::Selfdestruct { address: ended.contract, balance: ended.balance, refund_address: ended.beneficiary };
    FlatCall { action, error: None, result: None, subtraces: 0, trace_address, position, kind: "suicide" }
}
