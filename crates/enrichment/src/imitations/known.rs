//! The tokens with the most holders, by how their symbols and names look.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use domain::{Address, PageRequest, Token};
use store::{ChainReader, StoreError};

use super::{
    likeness::Look,
    rule::{Candidate, Likeness, imitation},
};
use crate::Labels;

/// The tokens that are read, those with the most holders.
const MAX_TOKENS: usize = 2_000;
const PAGE: u32 = 200;
/// Tokens that look the same with which one is compared, those with the most holders.
const MAX_ALIKE: usize = 64;

/// What a token imitates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imitated {
    pub address: Address,
    pub symbol: String,
    pub name: String,
    pub holders: u64,
    pub likeness: Likeness,
}

/// A token with its symbol and name, which are compared first.
pub(super) struct Named {
    pub(super) address: Address,
    pub(super) symbol: Look,
    pub(super) name: Look,
}

impl Named {
    fn keys(&self) -> impl Iterator<Item = &String> {
        self.symbol.keys.iter().chain(&self.name.keys)
    }
}

#[derive(Debug, Default)]
pub(super) struct KnownTokens {
    addresses: HashSet<Address>,
    /// With what is shown of them.
    tokens: Vec<(Candidate, String, String)>,
    /// The places in `tokens` of the tokens with a key.
    by_key: HashMap<String, Vec<usize>>,
    imitations: HashMap<Address, Arc<Imitated>>,
}

/// Looks up what the rule needs beyond names.
pub(super) async fn candidate(
    chain: &dyn ChainReader,
    labels: &Labels,
    named: Named,
    holders: u64,
) -> Result<Candidate, StoreError> {
    let Named { address, symbol, name } = named;
    Ok(Candidate {
        address,
        symbol,
        name,
        holders,
        first_seen: chain.find_address(address).await?.map(|summary| summary.first_seen),
        is_labelled: labels.find(&address).is_some(),
        is_pool: chain.find_pool(address).await?.is_some(),
    })
}

impl KnownTokens {
    pub(super) async fn read(chain: &dyn ChainReader, labels: &Labels) -> Result<Self, StoreError> {
        let mut tokens: Vec<Token> = Vec::new();
        while tokens.len() < MAX_TOKENS {
            let page = PageRequest { offset: tokens.len() as u64, ..PageRequest::newest(PAGE) };
            let items = chain.list_tokens(page).await?.items;
            let is_last = items.len() < PAGE as usize;
            tokens.extend(items);
            if is_last {
                break;
            }
        }
        Self::compare(chain, labels, tokens).await
    }

    async fn compare(chain: &dyn ChainReader, labels: &Labels, tokens: Vec<Token>) -> Result<Self, StoreError> {
        let mut known = Self { addresses: tokens.iter().map(|token| token.address).collect(), ..Self::default() };
        for token in tokens {
            let (symbol, name) = (token.metadata.symbol, token.metadata.name);
            let named = Named { address: token.address, symbol: Look::of(&symbol), name: Look::of(&name) };
            let place = known.tokens.len();
            for key in named.keys() {
                let places = known.by_key.entry(key.clone()).or_default();
                // The list is sorted: those with the most holders come first.
                if places.len() < MAX_ALIKE && places.last() != Some(&place) {
                    places.push(place);
                }
            }
            let Named { address, symbol: looks, name: named } = named;
            let candidate = Candidate {
                address,
                symbol: looks,
                name: named,
                holders: token.holder_count,
                first_seen: None,
                is_labelled: false,
                is_pool: false,
            };
            known.tokens.push((candidate, symbol, name));
        }
        known.complete(chain, labels).await?;
        let places = 0..known.tokens.len();
        let found = places.filter_map(|place| {
            let (token, ..) = known.tokens.get(place)?;
            Some((token.address, known.original_of(token)?))
        });
        known.imitations = found.collect();
        Ok(known)
    }

    /// Looks up the age of tokens that may have to be compared: those that share a key with another one, and all where there are
    /// more tokens than those that were read.
    async fn complete(&mut self, chain: &dyn ChainReader, labels: &Labels) -> Result<(), StoreError> {
        let is_cut = self.tokens.len() >= MAX_TOKENS;
        let by_key = &self.by_key;
        for (place, (token, ..)) in self.tokens.iter_mut().enumerate() {
            token.is_labelled = labels.find(&token.address).is_some();
            let mut keys = token.symbol.keys.iter().chain(&token.name.keys);
            if is_cut || keys.any(|key| by_key.get(key).is_some_and(|places| *places != [place])) {
                token.first_seen = chain.find_address(token.address).await?.map(|summary| summary.first_seen);
                token.is_pool = chain.find_pool(token.address).await?.is_some();
            }
        }
        Ok(())
    }

    pub(super) fn contains(&self, token: &Address) -> bool {
        self.addresses.contains(token)
    }

    pub(super) fn find(&self, token: &Address) -> Option<&Arc<Imitated>> {
        self.imitations.get(token)
    }

    /// Whether a token may imitate a known one.
    pub(super) fn has_alike(&self, named: &Named) -> bool {
        named.keys().any(|key| self.by_key.contains_key(key))
    }

    /// The original of a token, the one with the most holders if there are several.
    pub(super) fn original_of(&self, token: &Candidate) -> Option<Arc<Imitated>> {
        let keys = token.symbol.keys.iter().chain(&token.name.keys);
        let places = keys.filter_map(|key| self.by_key.get(key)).flatten();
        let alike = places.filter_map(|place| self.tokens.get(*place));
        let originals = alike.filter_map(|original| Some((original, imitation(token, &original.0)?)));
        let (original, likeness) = originals.max_by_key(|((original, ..), _)| {
            (original.is_labelled, original.holders, std::cmp::Reverse(original.first_seen))
        })?;
        let (original, symbol, name) = original;
        Some(Arc::new(Imitated {
            address: original.address,
            symbol: symbol.clone(),
            name: name.clone(),
            holders: original.holders,
            likeness,
        }))
    }
}
