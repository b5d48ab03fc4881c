//! Reads contracts at the head of the chain.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::TrafficError;
use crate::{Call, CallError, DevChain};

#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    chain: &'a DevChain,
}

impl<'a> Reader<'a> {
    pub(super) fn new(chain: &'a DevChain) -> Self {
        Self { chain }
    }

    pub(super) fn timestamp(&self) -> u64 {
        self.chain.head().timestamp
    }

    pub(super) fn coins(&self, address: Address) -> U256 {
        self.chain.balance(address)
    }

    /// The nonce of the next transaction of an address, including pending ones.
    pub(super) fn next_nonce(&self, address: Address) -> u64 {
        self.chain.next_nonce(address)
    }

    pub(super) fn read<C: SolCall>(&self, contract: Address, call: &C) -> Result<C::Return, TrafficError> {
        self.read_unless_reverted(contract, call)?
            .ok_or(TrafficError::CallReverted { contract, function: C::SIGNATURE })
    }

    /// The result; None if the call reverts.
    pub(super) fn read_unless_reverted<C: SolCall>(
        &self,
        contract: Address,
        call: &C,
    ) -> Result<Option<C::Return>, TrafficError> {
        let output = match self.chain.call(&Call::to(contract, call.abi_encode())) {
            Ok(output) => output,
            Err(CallError::Reverted(_)) => return Ok(None),
            Err(source) => return Err(TrafficError::Call { contract, source }),
        };
        C::abi_decode_returns(&output).map(Some).map_err(|source| TrafficError::Output {
            contract,
            function: C::SIGNATURE,
            source,
        })
    }
}
