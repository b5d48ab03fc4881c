//! The errors of calls in the words of geth and of Parity.

use alloy_sol_types::{ContractError, GenericRevertReason};
use revm::interpreter::InstructionResult;

use super::recorder::RecordedCall;

/// As geth writes it; None for a call that succeeded.
pub(super) fn of_geth(call: &RecordedCall) -> Option<String> {
    let error = match (call.result, call.undefined_opcode) {
        (result, _) if result.is_ok() => return None,
        (_, Some(opcode)) => format!("invalid opcode: opcode {opcode:#x} not defined"),
        (InstructionResult::InvalidFEOpcode, _) => "invalid opcode: INVALID".to_owned(),
        (result, _) => words(result).map_or_else(|| format!("{result:?}"), |(geth, _)| geth.to_owned()),
    };
    Some(error)
}

/// As Parity writes it; None for a call that succeeded.
pub(super) fn of_parity(call: &RecordedCall) -> Option<String> {
    let result = call.result;
    let error = || words(result).map_or_else(|| format!("{result:?}"), |(_, parity)| parity.to_owned());
    (!result.is_ok()).then(error)
}

fn words(result: InstructionResult) -> Option<(&'static str, &'static str)> {
    use InstructionResult as Result;
    Some(match result {
        Result::Revert => ("execution reverted", "Reverted"),
        Result::OutOfGas
        | Result::PrecompileOOG
        | Result::MemoryOOG
        | Result::MemoryLimitOOG
        | Result::InvalidOperandOOG
        | Result::ReentrancySentryOOG => ("out of gas", "Out of gas"),
        Result::OutOfFunds => ("insufficient balance for transfer", "Insufficient balance for transfer"),
        Result::CreateContractSizeLimit => ("max code size exceeded", "Out of gas"),
        Result::CreateInitCodeSizeLimit => ("max initcode size exceeded", "Out of gas"),
        Result::OpcodeNotFound | Result::NotActivated | Result::InvalidFEOpcode => {
            ("invalid opcode", "Bad instruction")
        }
        Result::StackUnderflow => ("stack underflow", "Stack underflow"),
        Result::StackOverflow => ("Out of stack", "Out of stack"),
        Result::StateChangeDuringStaticCall | Result::CallNotAllowedInsideStatic => {
            ("write protection", "Mutable Call In Static Context")
        }
        Result::OutOfOffset => ("return data out of bounds", "Out of bounds"),
        Result::CreateContractStartingWithEF => ("invalid code: must not begin with 0xef", "Invalid code"),
        Result::CreateCollision => ("contract address collision", "Contract address collision"),
        Result::NonceOverflow => ("nonce uint64 overflow", "Nonce overflow"),
        Result::CallTooDeep => ("max call depth exceeded", "Max call depth exceeded"),
        Result::InvalidJump => ("invalid jump destination", "Bad jump destination"),
        Result::PrecompileError => ("precompiled failed", "Built-in failed"),
        _ => return None,
    })
}

/// The reason in the output of a call that failed, as far as Solidity defines it.
pub(super) fn revert_reason(output: &[u8]) -> Option<String> {
    let reason = match GenericRevertReason::decode(output)? {
        GenericRevertReason::ContractError(ContractError::Revert(revert)) => revert.reason,
        GenericRevertReason::ContractError(ContractError::Panic(panic)) => panic.as_geth_str().into_owned(),
        _ => return None,
    };
    (!reason.trim_matches('\0').is_empty()).then_some(reason)
}
