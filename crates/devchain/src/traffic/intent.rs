//! A transaction of an activity, before its type and price are chosen.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

/// The index of an account of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Actor(pub(super) usize);

impl Actor {
    /// Deploys the contracts and owns the tokens.
    pub(super) const TREASURY: Actor = Actor(0);
}

/// The intended outcome of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeds,
    Fails,
}

/// Enough gas for a call that moves one or two tokens.
const CALL_GAS: u64 = 250_000;

/// The most that a byte of input costs (EIP-7623).
const MESSAGE_BYTE_GAS: u64 = 40;

#[derive(Debug, Clone)]
pub(super) struct Intent {
    pub(super) from: Actor,
    /// None creates a contract.
    pub(super) to: Option<Address>,
    pub(super) value: U256,
    pub(super) input: Bytes,
    pub(super) gas: u64,
    pub(super) outcome: Outcome,
}

impl Intent {
    pub(super) fn payment(from: Actor, to: Address, value: U256) -> Self {
        Self { from, to: Some(to), value, input: Bytes::new(), gas: 21_000, outcome: Outcome::Succeeds }
    }

    /// A payment with a text for its receiver.
    pub(super) fn message(from: Actor, to: Address, value: U256, text: &'static str) -> Self {
        let gas = 21_000 + MESSAGE_BYTE_GAS * u64::try_from(text.len()).unwrap_or_default();
        Self { input: Bytes::from_static(text.as_bytes()), gas, ..Self::payment(from, to, value) }
    }

    pub(super) fn call(from: Actor, to: Address, call: &impl SolCall) -> Self {
        Self {
            from,
            to: Some(to),
            value: U256::ZERO,
            input: call.abi_encode().into(),
            gas: CALL_GAS,
            outcome: Outcome::Succeeds,
        }
    }

    pub(super) fn creation(from: Actor, code: Bytes) -> Self {
        // 200 gas per byte of code, the calldata, and a constructor that writes storage.
        let gas = 250_000 + 250 * u64::try_from(code.len()).unwrap_or(u64::MAX / 250);
        Self { from, to: None, value: U256::ZERO, input: code, gas, outcome: Outcome::Succeeds }
    }

    pub(super) fn with_value(self, value: U256) -> Self {
        Self { value, ..self }
    }

    pub(super) fn with_gas(self, gas: u64) -> Self {
        Self { gas, ..self }
    }

    pub(super) fn expected_to_fail(self) -> Self {
        Self { outcome: Outcome::Fails, ..self }
    }
}
