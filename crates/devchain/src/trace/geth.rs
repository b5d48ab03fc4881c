//! The tree of calls in the format of geth's `callTracer`.

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use revm::interpreter::InstructionResult;
use serde::{Deserialize, Serialize};

use super::{
    errors,
    recorder::{CallKind, RecordedCall, RecordedLog, Selfdestruct},
};

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallOptions {
    only_top_call: Option<bool>,
    with_log: Option<bool>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallFrame {
    from: Address,
    gas: U64,
    gas_used: U64,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Address>,
    input: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revert_reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<CallFrame>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logs: Vec<CallLog>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<U256>,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct CallLog {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
    position: U64,
    index: U64,
}

/// The outermost call of a transaction with this gas limit, which used this gas.
pub(super) fn call_frame(outermost: RecordedCall, options: CallOptions, gas_limit: u64, gas_used: u64) -> CallFrame {
    let (gas, gas_used) = (U64::from(gas_limit), U64::from(gas_used));
    let (with_log, only_top_call) = (options.with_log.unwrap_or_default(), options.only_top_call.unwrap_or_default());
    CallFrame { gas, gas_used, ..frame(outermost, with_log, !only_top_call) }
}

/// The depth is limited by the EVM.
fn frame(call: RecordedCall, with_logs: bool, with_calls: bool) -> CallFrame {
    let error = errors::of_geth(&call);
    let has_failed = error.is_some();
    // A revert, and what is found out before the call, leave the rest of the gas.
    let uses_all_gas = has_failed && !call.result.is_revert() && call.result != InstructionResult::NonceOverflow;
    let revert_reason = if has_failed { errors::revert_reason(&call.output) } else { None };
    // What a failed call logged did not happen.
    let with_logs = with_logs && !has_failed;
    let mut calls = Vec::new();
    if with_calls {
        calls.extend(call.calls.into_iter().map(|call| frame(call, with_logs, true)));
        calls.extend(call.selfdestruct.map(selfdestruct));
    }
    CallFrame {
        from: call.from,
        gas: U64::from(call.gas_limit),
        gas_used: U64::from(if uses_all_gas { call.gas_limit } else { call.gas_used }),
        to: call.to,
        input: call.input,
        output: Some(call.output).filter(|output| !output.is_empty() && !uses_all_gas),
        error,
        revert_reason,
        calls,
        logs: if with_logs { call.logs.into_iter().map(log).collect() } else { Vec::new() },
        value: (call.kind != CallKind::StaticCall).then_some(call.value),
        kind: name(call.kind),
    }
}

/// A call of its own, after those of the contract.
fn selfdestruct(selfdestruct: Selfdestruct) -> CallFrame {
    CallFrame {
        from: selfdestruct.contract,
        to: Some(selfdestruct.beneficiary),
        value: Some(selfdestruct.balance),
        kind: "SELFDESTRUCT",
        ..CallFrame::default()
    }
}

fn log(recorded: RecordedLog) -> CallLog {
    let (topics, data) = recorded.log.data.split();
    let (position, index) = (U64::from(recorded.calls_before), U64::from(recorded.index));
    CallLog { address: recorded.log.address, topics, data, position, index }
}

fn name(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Call => "CALL",
        CallKind::CallCode => "CALLCODE",
        CallKind::DelegateCall => "DELEGATECALL",
        CallKind::StaticCall => "STATICCALL",
        CallKind::Create => "CREATE",
        CallKind::Create2 => "CREATE2",
    }
}
