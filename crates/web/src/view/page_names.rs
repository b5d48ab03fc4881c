//! Names of the addresses on one page.
//!
//! While a page is put together, its links only note their addresses. All of them are looked up at once before the page is
//! rendered, so that a page costs the same few queries however many links it has.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Deref,
    sync::{Arc, Mutex, PoisonError},
};

use domain::Address;

use super::{
    direction::Direction,
    known_addresses::{Known, KnownAddresses},
    links::{AddressLink, TokenLink},
};
use crate::names::Names;

/// The names of one page.
pub(crate) struct PageNames {
    names: Names,
    /// The address that the page is about.
    subject: Option<Address>,
    noted: Mutex<BTreeSet<Address>>,
    known: KnownAddresses,
}

impl Deref for PageNames {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.names
    }
}

impl PageNames {
    pub(crate) fn new(names: Names) -> Self {
        Self { names, subject: None, noted: Mutex::default(), known: KnownAddresses::default() }
    }

    pub(crate) fn address(&self, address: Address) -> AddressLink {
        let link = AddressLink::new(address, self.names.label(&address).as_deref(), self.note(address));
        if self.subject == Some(address) { link.here() } else { link }
    }

    /// For the page of an address.
    pub(crate) fn about(self, address: Address) -> Self {
        Self { subject: Some(address), ..self }
    }

    pub(crate) fn direction(&self, from: Address, to: Option<Address>) -> Option<Direction> {
        let subject = self.subject?;
        Some(match (from == subject, to == Some(subject)) {
            (true, true) => Direction::ToSelf,
            (true, false) => Direction::Out,
            (false, _) => Direction::In,
        })
    }

    pub(crate) fn token(&self, address: Address, symbol: &str, name: &str) -> TokenLink {
        TokenLink::new(address, symbol, name, self.note(address))
    }

    /// Without names that were read from the contract, a link shows the address.
    pub(crate) fn token_if_read(&self, address: Address, symbol: Option<&str>, name: Option<&str>) -> TokenLink {
        self.token(address, symbol.unwrap_or_default(), name.unwrap_or_default())
    }

    /// What is known of the addresses of the page, once it is rendered.
    pub(crate) fn known(&self) -> KnownAddresses {
        Arc::clone(&self.known)
    }

    fn note(&self, address: Address) -> KnownAddresses {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(address);
        Arc::clone(&self.known)
    }

    /// The addresses that the links of the page noted.
    pub(crate) fn take_noted(&self) -> Vec<Address> {
        std::mem::take(&mut *self.noted.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    /// Called once, before the page is rendered.
    pub(crate) fn set_known(&self, known: HashMap<Address, Known>) {
        let _ = self.known.set(known);
    }
}
