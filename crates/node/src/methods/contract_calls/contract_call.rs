use alloy_primitives::Bytes;
use domain::Address;

/// A call of a contract, which changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractCall {
    pub to: Address,
    pub data: Bytes,
}
