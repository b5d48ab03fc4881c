//! The loupe of a diamond (EIP-2535): the functions that list its facets and their selectors.
//!
//! Any contract can implement these selectors and return anything: the output is bounded in bytes, facets and selectors,
//! and a route counts only if the list and the answer for the single selector agree.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::{Address, Bytes};
use alloy_sol_types::{SolCall, sol};
use node::{CallBlock, CallRequest, CallResult, ContractCall, NodeClient, NodeError, ViewOutcome};

use super::error::CallError;
use crate::abi::decode_all;

pub(super) type Selector = [u8; 4];
/// A facet and its selectors, as listed by a loupe.
type Listed = (Address, Vec<Selector>);

sol! {
    interface DiamondLoupe {
        function facets() external view;
        function facetAddresses() external view;
        function facetFunctionSelectors(address facet) external view;
        function facetAddress(bytes4 selector) external view;
    }
}

/// Loupes read storage for each selector, some of them more than once.
const GAS: u64 = 30_000_000;
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest output that is decoded: a few thousand selectors.
const MAX_OUTPUT: usize = 128 * 1024;
/// Facets that are read per diamond.
const MAX_FACETS: usize = 128;
/// Selectors that are read per diamond.
const MAX_SELECTORS: usize = 4_096;

/// The functions that a diamond delegates to one facet: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) facet: Address,
    pub(super) selectors: Vec<Selector>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Routes {
    pub(super) routes: Vec<Route>,
    /// Number of facets beyond the limits.
    pub(super) left_out: usize,
}

/// Reads the loupe of a contract; None if it has none, or one that lists nothing usable.
pub(super) async fn read(node: &NodeClient, diamond: Address, at: CallBlock) -> Result<Option<Routes>, CallError> {
    let output = call(node, diamond, &DiamondLoupe::facetsCall {}, at).await?;
    if let Some(listed) = output.as_ref().and_then(|output| decode_facets(output)) {
        return Ok(Routes::of(&listed));
    }
    let (listed, omitted) = list_one_by_one(node, diamond, at).await?;
    Ok(Routes::of(&listed).map(|routes| Routes { left_out: routes.left_out + omitted, ..routes }))
}

/// For loupes whose whole list is too long or takes too much gas. Also returns the number of facets beyond the limit.
async fn list_one_by_one(
    node: &NodeClient,
    diamond: Address,
    at: CallBlock,
) -> Result<(Vec<Listed>, usize), CallError> {
    let output = call(node, diamond, &DiamondLoupe::facetAddressesCall {}, at).await?;
    let Some(mut facets) = output.as_ref().and_then(|output| decode_addresses(output)) else {
        return Ok((Vec::new(), 0));
    };
    let mut seen = HashSet::new();
    facets.retain(|facet| seen.insert(*facet));
    let omitted = facets.len().saturating_sub(MAX_FACETS);
    facets.truncate(MAX_FACETS);
    let request = |facet: &Address| ContractCall {
        to: diamond,
        data: DiamondLoupe::facetFunctionSelectorsCall { facet: *facet }.abi_encode().into(),
    };
    let answers = node.calls(facets.iter().map(request).collect(), at).await?.results;
    let read = |(facet, answer): (Address, CallResult)| match answer {
        CallResult::Returned(data) => Some((facet, decode_selectors(&data)?)),
        CallResult::Reverted => None,
    };
    Ok((facets.into_iter().zip(answers).filter_map(read).collect(), omitted))
}

/// The selectors for which `facetAddress` returns the claimed facet.
pub(super) async fn confirm(
    node: &NodeClient,
    diamond: Address,
    claims: &[(Selector, Address)],
    at: CallBlock,
) -> Result<HashSet<Selector>, NodeError> {
    if claims.is_empty() {
        return Ok(HashSet::new());
    }
    let request = |(selector, _): &(Selector, Address)| ContractCall {
        to: diamond,
        data: DiamondLoupe::facetAddressCall { selector: (*selector).into() }.abi_encode().into(),
    };
    let answers = node.calls(claims.iter().map(request).collect(), at).await?.results;
    let agrees = |((selector, facet), answer): (&(Selector, Address), CallResult)| match answer {
        CallResult::Returned(word) if word[..] == facet.into_word()[..] => Some(*selector),
        CallResult::Returned(_) | CallResult::Reverted => None,
    };
    Ok(claims.iter().zip(answers).filter_map(agrees).collect())
}

impl Routes {
    /// Lists every facet and every selector once. A selector that is listed for two facets is dropped.
    fn of(listed: &[Listed]) -> Option<Self> {
        let mut owners: HashMap<Selector, Option<Address>> = HashMap::new();
        let mut facets: Vec<Address> = Vec::new();
        let mut by_facet: HashMap<Address, Vec<Selector>> = HashMap::new();
        for (facet, selectors) in listed.iter().filter(|(facet, _)| *facet != Address::ZERO) {
            let own = by_facet.entry(*facet).or_insert_with(|| {
                facets.push(*facet);
                Vec::new()
            });
            for selector in selectors {
                match owners.get_mut(selector) {
                    Some(Some(owner)) if owner == facet => {}
                    Some(owner) => *owner = None,
                    None => {
                        owners.insert(*selector, Some(*facet));
                        own.push(*selector);
                    }
                }
            }
        }
        let (mut routes, mut left_out, mut room) = (Vec::new(), 0, MAX_SELECTORS);
        for facet in facets {
            let mut selectors = by_facet.remove(&facet).unwrap_or_default();
            selectors.retain(|selector| owners.get(selector) == Some(&Some(facet)));
            if selectors.is_empty() {
                continue;
            }
            if routes.len() == MAX_FACETS || selectors.len() > room {
                left_out += 1;
                continue;
            }
            room -= selectors.len();
            routes.push(Route { facet, selectors });
        }
        (!routes.is_empty()).then_some(Self { routes, left_out })
    }
}

async fn call(
    node: &NodeClient,
    contract: Address,
    function: &impl SolCall,
    at: CallBlock,
) -> Result<Option<Bytes>, CallError> {
    let data = function.abi_encode().into();
    let request = CallRequest { from: None, to: Some(contract), data, gas: GAS, timeout: TIMEOUT };
    Ok(match node.view(&request, at).await? {
        ViewOutcome::Returned(output) => Some(output).filter(|output| output.len() <= MAX_OUTPUT),
        ViewOutcome::Reverted { .. } => None,
        // Whether there is a loupe is unknown: a call of a facet's function would be one that the contract does not have.
        ViewOutcome::StateGone => return Err(CallError::StateGone),
    })
}

fn decode_facets(answer: &[u8]) -> Option<Vec<Listed>> {
    let read = |value: DynSolValue| match value.as_tuple() {
        Some([facet, DynSolValue::Array(selectors)]) => Some((facet.as_address()?, as_selectors(selectors)?)),
        _ => None,
    };
    decode_list("(address,bytes4[])[]", answer)?.into_iter().map(read).collect()
}

fn decode_addresses(answer: &[u8]) -> Option<Vec<Address>> {
    decode_list("address[]", answer)?.iter().map(DynSolValue::as_address).collect()
}

fn decode_selectors(answer: &[u8]) -> Option<Vec<Selector>> {
    as_selectors(&decode_list("bytes4[]", answer)?)
}

fn decode_list(kind: &str, answer: &[u8]) -> Option<Vec<DynSolValue>> {
    match decode_all([&kind], answer)?.pop() {
        Some(DynSolValue::Array(items)) => Some(items),
        _ => None,
    }
}

fn as_selectors(values: &[DynSolValue]) -> Option<Vec<Selector>> {
    let read = |value: &DynSolValue| value.as_fixed_bytes().and_then(|(bytes, _)| bytes.get(..4)?.try_into().ok());
    values.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;
    use proptest::prelude::*;

    use super::*;

    const A: Address = Address::repeat_byte(0xa);
    const B: Address = Address::repeat_byte(0xb);

    fn selector(number: usize) -> Selector {
        u32::try_from(number).unwrap().to_be_bytes()
    }

    fn encoded(listed: &[Listed]) -> Vec<u8> {
        let word = |selector: &Selector| DynSolValue::FixedBytes(B256::right_padding_from(selector), 4);
        let facet = |(facet, selectors): &Listed| {
            let selectors = selectors.iter().map(word).collect();
            DynSolValue::Tuple(vec![DynSolValue::Address(*facet), DynSolValue::Array(selectors)])
        };
        DynSolValue::Tuple(vec![DynSolValue::Array(listed.iter().map(facet).collect())]).abi_encode_params()
    }

    #[test]
    fn a_list_is_decoded_and_deduplicated() {
        let listed = [(A, vec![selector(1), selector(2), selector(1)]), (B, vec![selector(3)]), (A, vec![selector(4)])];
        assert_eq!(decode_facets(&encoded(&listed)).unwrap(), listed);
        let routes = Routes::of(&listed).unwrap();
        let expected = [
            Route { facet: A, selectors: vec![selector(1), selector(2), selector(4)] },
            Route { facet: B, selectors: vec![selector(3)] },
        ];
        assert_eq!((&routes.routes[..], routes.left_out), (&expected[..], 0));
    }

    #[test]
    fn a_selector_listed_for_two_facets_is_dropped() {
        let listed = [(A, vec![selector(1), selector(2)]), (B, vec![selector(2)]), (A, vec![selector(2)])];
        let routes = Routes::of(&listed).unwrap().routes;
        assert_eq!(routes, [Route { facet: A, selectors: vec![selector(1)] }]);
    }

    #[test]
    fn a_loupe_that_lists_nothing_is_not_a_diamond() {
        assert_eq!(Routes::of(&[]), None);
        assert_eq!(Routes::of(&[(A, Vec::new()), (Address::ZERO, vec![selector(1)])]), None);
        assert_eq!(decode_facets(&[]), None);
        assert_eq!(decode_facets(&[0xff; 640]), None);
    }

    #[test]
    fn facets_and_selectors_beyond_the_limits_are_omitted() {
        let facet = |number: usize| Address::left_padding_from(&(number + 1).to_be_bytes());
        let many: Vec<_> = (0..MAX_FACETS + 5).map(|number| (facet(number), vec![selector(number)])).collect();
        let routes = Routes::of(&many).unwrap();
        assert_eq!((routes.routes.len(), routes.left_out), (MAX_FACETS, 5));
        let wide = [(A, (0..=MAX_SELECTORS).map(selector).collect()), (B, vec![selector(MAX_SELECTORS + 1)])];
        let routes = Routes::of(&wide).unwrap();
        assert_eq!((routes.routes.len(), routes.routes[0].facet, routes.left_out), (1, B, 1));
    }

    proptest! {
        #[test]
        fn arbitrary_loupe_output_never_panics(data: Vec<u8>, numbers in prop::collection::vec(0_u64..300, 0..40)) {
            let words: Vec<u8> = numbers.iter().flat_map(|number| B256::left_padding_from(&number.to_be_bytes()).0).collect();
            for answer in [&data, &words] {
                let _ = decode_facets(answer).and_then(|listed| Routes::of(&listed));
                let _ = decode_addresses(answer);
                let _ = decode_selectors(answer);
            }
        }
    }
}
