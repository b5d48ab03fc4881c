//! Detects proxies: contracts that delegate every call to an implementation.

use std::time::Duration;

use alloy_primitives::{Address, B256, b256};
use alloy_sol_types::{SolCall, sol};
use node::{CallBlock, CallRequest, NodeClient, ViewOutcome};

use super::error::CallError;
use crate::minimal_proxy_target;

const GAS: u64 = 500_000;
const TIMEOUT: Duration = Duration::from_secs(5);

sol! {
    /// A Safe proxy implements this itself.
    function masterCopy() external view;
    /// A function of EIP-1967 beacons.
    function implementation() external view;
}

/// How a proxy stores the address of its implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyKind {
    /// In its code (EIP-1167).
    Minimal,
    /// In the storage slot of EIP-1967.
    Slot,
    /// A beacon contract returns it (EIP-1967).
    Beacon,
    /// In the storage slot of EIP-1822.
    Proxiable,
    /// In the slot that OpenZeppelin used before EIP-1967.
    Zeppelin,
    Safe,
}

impl ProxyKind {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Minimal => "eip1167",
            Self::Slot => "eip1967",
            Self::Beacon => "eip1967-beacon",
            Self::Proxiable => "eip1822",
            Self::Zeppelin => "zeppelinos",
            Self::Safe => "safe",
        }
    }
}

/// A proxy and its implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proxy {
    pub kind: ProxyKind,
    pub implementation: Address,
}

/// The storage slots of the implementation or beacon address.
const SLOTS: [(ProxyKind, B256); 5] = [
    (ProxyKind::Slot, b256!("360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc")),
    (ProxyKind::Beacon, b256!("a3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50")),
    (ProxyKind::Proxiable, b256!("c5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7")),
    (ProxyKind::Zeppelin, b256!("7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3")),
    // Slot 0 holds some address in most contracts, so `masterCopy()` must return the same one.
    (ProxyKind::Safe, B256::ZERO),
];

/// Detects whether the contract at an address is a proxy.
pub(super) async fn find(
    node: &NodeClient,
    address: Address,
    code: &[u8],
    at: CallBlock,
) -> Result<Option<Proxy>, CallError> {
    if let Some(implementation) = minimal_proxy_target(code) {
        return Ok(Some(Proxy { kind: ProxyKind::Minimal, implementation }));
    }
    // A proxy must contain a delegating instruction.
    if !delegates(code) {
        return Ok(None);
    }
    let slots = SLOTS.map(|(_, slot)| slot);
    let words = node.storage(address, &slots, at).await?;
    for ((kind, _), word) in SLOTS.into_iter().zip(words) {
        let Some(target) = as_address(word) else { continue };
        match kind {
            ProxyKind::Safe => {
                if call_for_address(node, address, &masterCopyCall {}, at).await? == Some(target) {
                    return Ok(Some(Proxy { kind, implementation: target }));
                }
            }
            ProxyKind::Beacon => {
                if let Some(implementation) = call_for_address(node, target, &implementationCall {}, at).await? {
                    return Ok(Some(Proxy { kind, implementation }));
                }
            }
            ProxyKind::Minimal | ProxyKind::Slot | ProxyKind::Proxiable | ProxyKind::Zeppelin => {
                return Ok(Some(Proxy { kind, implementation: target }));
            }
        }
    }
    Ok(None)
}

/// Whether code may delegate different functions to different contracts; a minimal proxy has one target.
#[must_use]
pub(crate) fn can_route(code: &[u8]) -> bool {
    minimal_proxy_target(code).is_none() && delegates(code)
}

/// Whether code contains DELEGATECALL or CALLCODE.
fn delegates(code: &[u8]) -> bool {
    const DELEGATECALL: u8 = 0xf4;
    const CALLCODE: u8 = 0xf2;
    let mut at = 0;
    while let Some(operation) = code.get(at) {
        match operation {
            &DELEGATECALL | &CALLCODE => return true,
            0x60..=0x7f => at += usize::from(operation - 0x5f),
            _ => {}
        }
        at += 1;
    }
    false
}

fn as_address(word: B256) -> Option<Address> {
    let (front, address) = word.split_at(12);
    (front.iter().all(|byte| *byte == 0) && address.iter().any(|byte| *byte != 0)).then(|| Address::from_slice(address))
}

/// Calls a function that returns an address; None if it returns anything else.
async fn call_for_address(
    node: &NodeClient,
    contract: Address,
    function: &impl SolCall,
    at: CallBlock,
) -> Result<Option<Address>, CallError> {
    let data = function.abi_encode().into();
    let request = CallRequest { from: None, to: Some(contract), data, gas: GAS, timeout: TIMEOUT };
    Ok(match node.view(&request, at).await? {
        ViewOutcome::Returned(output) => B256::try_from(output.as_ref()).ok().and_then(as_address),
        ViewOutcome::Reverted { .. } => None,
        // What the contract would say is unknown: it may be a proxy.
        ViewOutcome::StateGone => return Err(CallError::StateGone),
    })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U256, hex, keccak256};

    use super::*;

    #[test]
    fn slots_match_their_standards() {
        let minus_one = |name: &str| B256::from(U256::from_be_bytes(keccak256(name).0) - U256::from(1));
        let slot = |kind: ProxyKind| SLOTS.iter().find(|(other, _)| *other == kind).unwrap().1;
        assert_eq!(slot(ProxyKind::Slot), minus_one("eip1967.proxy.implementation"));
        assert_eq!(slot(ProxyKind::Beacon), minus_one("eip1967.proxy.beacon"));
        assert_eq!(slot(ProxyKind::Proxiable), keccak256("PROXIABLE"));
        assert_eq!(slot(ProxyKind::Zeppelin), keccak256("org.zeppelinos.proxy.implementation"));
    }

    #[test]
    fn pushed_constants_are_not_instructions() {
        assert!(delegates(&hex!("5af4")));
        assert!(!delegates(&hex!("60f4 61f4f4 00")));
    }

    #[test]
    fn words_that_are_not_addresses_are_skipped() {
        assert_eq!(as_address(B256::ZERO), None);
        assert_eq!(as_address(B256::repeat_byte(1)), None);
        let word = B256::left_padding_from(&[7; 20]);
        assert_eq!(as_address(word), Some(Address::repeat_byte(7)));
    }
}
