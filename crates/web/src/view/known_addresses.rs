use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use domain::Address;
use enrichment::Imitated;

/// What the index knows about an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// That the contract gives itself: the symbol of a token, or the name in a verified source. Anyone can choose it.
    pub(crate) name: Option<String>,
    pub(crate) kind: Kind,
    /// Whether there was no code when it was looked for.
    pub(crate) has_no_code: bool,
    /// What the token at the address seems to imitate.
    pub(crate) imitates: Option<Arc<Imitated>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An account, or an address that is not indexed.
    #[default]
    Account,
    Contract,
    VerifiedContract,
}

/// Filled before the page is rendered.
pub(crate) type KnownAddresses = Arc<OnceLock<HashMap<Address, Known>>>;
