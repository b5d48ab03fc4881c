//! Fills values that are set after compilation into the expected code, with the values from the chain.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes};

use super::difference::Difference;
use crate::{CompiledCode, CompiledContract};

/// A library starts with a push of its own address (zero until deployed), to reject direct calls.
const PUSH_ADDRESS: u8 = 0x73;
const ADDRESS_BYTES: usize = 20;

/// Fills in the library's own address, which must be the address it is deployed at. Returns whether it did.
pub(super) fn call_protection(expected: &mut [u8], on_chain: &[u8], own: Address) -> Result<bool, Difference> {
    let Some([PUSH_ADDRESS, guarded @ ..]) = expected.get_mut(..=ADDRESS_BYTES) else { return Ok(false) };
    if guarded.iter().any(|byte| *byte != 0) || on_chain.first() != Some(&PUSH_ADDRESS) {
        return Ok(false);
    }
    let Some(found) = on_chain.get(1..=ADDRESS_BYTES).map(Address::from_slice) else { return Ok(false) };
    if found != own {
        return Err(Difference::CallProtection { found });
    }
    guarded.copy_from_slice(found.as_slice());
    Ok(true)
}

/// Fills in the addresses of linked libraries: one address per library.
pub(super) fn libraries(
    expected: &mut [u8],
    code: &CompiledCode,
    on_chain: &[u8],
    known: Option<&BTreeMap<String, Address>>,
) -> Result<BTreeMap<String, Address>, Difference> {
    let mut found = BTreeMap::new();
    for link in &code.links {
        let (Some(target), Some(bytes)) = (expected.get_mut(link.span.clone()), on_chain.get(link.span.clone())) else {
            continue;
        };
        let address = Address::from_slice(bytes);
        let before = known.and_then(|known| known.get(&link.library).copied());
        let before = before.or_else(|| found.get(&link.library).copied());
        if before.is_some_and(|before| before != address) {
            return Err(Difference::Library { library: link.library.clone() });
        }
        target.copy_from_slice(bytes);
        found.insert(link.library.clone(), address);
    }
    Ok(found)
}

/// Fills in the values of immutable variables: one value per variable.
pub(super) fn immutables(
    expected: &mut [u8],
    compiled: &CompiledContract,
    on_chain: &[u8],
) -> Result<BTreeMap<String, Bytes>, Difference> {
    let mut found = BTreeMap::new();
    for (id, spans) in &compiled.immutables {
        for span in spans {
            let (Some(target), Some(bytes)) = (expected.get_mut(span.clone()), on_chain.get(span.clone())) else {
                continue;
            };
            let value = Bytes::copy_from_slice(bytes);
            if found.get(id).is_some_and(|before| *before != value) {
                return Err(Difference::Immutables { id: id.clone() });
            }
            target.copy_from_slice(bytes);
            found.insert(id.clone(), value);
        }
    }
    Ok(found)
}
