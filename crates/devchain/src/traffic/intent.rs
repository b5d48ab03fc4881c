//! A transaction as an activity wants it, before its form and price are chosen.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::SolCall;

/// An account of the chain that can sign, by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Actor(pub(super) usize);

impl Actor {
    /// Deploys the contracts and owns the tokens.
    pub(super) const TREASURY: Actor = Actor(0);
}

/// What a transaction is meant to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Succeeds,
    Fails,
}

/// Gas for a call that touches a token or two; what is left over is given back.
const CALL_GAS: u64 = 250_000;

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
        // 200 gas for each byte kept, the price of calldata, and room for a constructor that stores.
        let gas = 250_000 + 250 * u64::try_from(code.len()).unwrap_or(u64::MAX / 250);
        Self { from, to: None, value: U256::ZERO, input: code, gas, outcome: Outcome::Succeeds }
    }

    pub(super) fn with_value(self, value: U256) -> Self {
        Self { value, ..self }
    }

    pub(super) fn with_gas(self, gas: u64) -> Self {
        Self { gas, ..self }
    }

    pub(super) fn meant_to_fail(self) -> Self {
        Self { outcome: Outcome::Fails, ..self }
    }
}
