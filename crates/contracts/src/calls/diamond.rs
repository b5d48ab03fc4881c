//! Diamonds (EIP-2535) and their verified facets.

use std::collections::HashSet;

use alloy_json_abi::Function;
use alloy_primitives::{Address, keccak256};
use futures::future::BoxFuture;
use node::CallBlock;

use super::{
    CallError, ContractCalls,
    loupe::{self, Route, Selector},
};
use crate::Interface;

/// Functions of one diamond whose route is confirmed with a call each.
const MAX_CONFIRMED: usize = 512;

/// A contract that delegates each of its functions to one of its facets.
#[derive(Debug)]
pub struct Diamond {
    pub facets: Vec<Facet>,
    /// Number of facets omitted because there are too many.
    pub left_out: usize,
}

#[derive(Debug)]
pub struct Facet {
    pub address: Address,
    /// The functions that the diamond delegates to it.
    pub selectors: Vec<[u8; 4]>,
    /// None if its source is not verified.
    pub verified: Option<VerifiedFacet>,
}

/// What is known of a facet from its verified source.
#[derive(Debug)]
pub struct VerifiedFacet {
    pub name: String,
    /// The functions that the diamond delegates to it, and all its events and errors.
    pub interface: Interface,
}

impl Diamond {
    /// The merged interface of the verified facets; None if no function is delegated to a verified facet.
    #[must_use]
    pub fn interface(&self) -> Option<Interface> {
        let mut whole: Option<Interface> = None;
        let verified = self.facets.iter().filter_map(|facet| facet.verified.as_ref());
        for facet in verified.filter(|facet| !facet.interface.functions.is_empty()) {
            let whole = whole.get_or_insert_default();
            whole.functions.extend(facet.interface.functions.iter().cloned());
            whole.events.extend(facet.interface.events.iter().cloned());
            whole.errors.extend(facet.interface.errors.iter().cloned());
        }
        whole
    }

    fn functions(&self) -> impl Iterator<Item = (&Function, Address)> {
        let verified = self.facets.iter().filter_map(|facet| Some((facet.verified.as_ref()?, facet.address)));
        verified.flat_map(|(verified, address)| verified.interface.functions.iter().map(move |one| (one, address)))
    }

    fn retain(&mut self, keep: impl Fn(&Function) -> bool) {
        for facet in self.facets.iter_mut().filter_map(|facet| facet.verified.as_mut()) {
            facet.interface.functions.retain(&keep);
        }
    }
}

impl ContractCalls {
    /// The diamond at an address. A function of a verified facet is included only if the loupe's list and its answer for
    /// the single selector agree.
    pub(crate) fn find_diamond(
        &self,
        address: Address,
        at: CallBlock,
    ) -> BoxFuture<'_, Result<Option<Diamond>, CallError>> {
        Box::pin(async move {
            let Some(mut diamond) = Box::pin(self.list_facets(address, at)).await? else { return Ok(None) };
            let claims: Vec<(Selector, Address)> = diamond
                .functions()
                .map(|(function, facet)| (function.selector().0, facet))
                .take(MAX_CONFIRMED)
                .collect();
            let confirmed = Box::pin(loupe::confirm(&self.node, address, &claims, at)).await?;
            diamond.retain(|function| confirmed.contains(&function.selector().0));
            Ok(Some(diamond))
        })
    }

    /// The same for one call: only functions that match the called name are confirmed; the others are taken from the list.
    pub(super) async fn find_diamond_for(
        &self,
        address: Address,
        is_called: impl Fn(&Function) -> bool,
        at: CallBlock,
    ) -> Result<Option<Diamond>, CallError> {
        let Some(mut diamond) = Box::pin(self.list_facets(address, at)).await? else { return Ok(None) };
        let called = diamond.functions().filter(|(function, _)| is_called(function));
        let claims: Vec<(Selector, Address)> =
            called.map(|(function, facet)| (function.selector().0, facet)).take(MAX_CONFIRMED).collect();
        let confirmed = Box::pin(loupe::confirm(&self.node, address, &claims, at)).await?;
        diamond.retain(|function| !is_called(function) || confirmed.contains(&function.selector().0));
        Ok(Some(diamond))
    }

    /// Facets from the loupe's list alone, unconfirmed, with their verified source.
    async fn list_facets(&self, address: Address, at: CallBlock) -> Result<Option<Diamond>, CallError> {
        let Some(routes) = loupe::read(&self.node, address, at).await? else { return Ok(None) };
        let addresses: Vec<Address> = routes.routes.iter().map(|route| route.facet).collect();
        let codes = self.node.codes_of(&addresses, at).await?;
        let mut facets = Vec::with_capacity(addresses.len());
        for (Route { facet, selectors }, code) in routes.routes.into_iter().zip(codes) {
            let known = self.records.find_verified(facet, keccak256(&code)).await?;
            let verified = known.map(|known| {
                let interface = delegated_part(Interface::read(&known.code.abi), &selectors);
                VerifiedFacet { name: known.code.name, interface }
            });
            facets.push(Facet { address: facet, selectors, verified });
        }
        Ok(Some(Diamond { facets, left_out: routes.left_out }))
    }
}

/// The part of a facet's interface that the diamond delegates to it.
fn delegated_part(mut interface: Interface, selectors: &[Selector]) -> Interface {
    let selectors: HashSet<&Selector> = selectors.iter().collect();
    interface.functions.retain(|function| selectors.contains(&function.selector().0));
    interface.constructor = None;
    interface
}
