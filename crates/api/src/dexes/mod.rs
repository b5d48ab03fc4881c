//! Names of exchanges.

mod known;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use domain::{Address, Exchange, PoolStyle};
use serde::Deserialize;

/// Characters that a name may have at most, so that a slip in the file does not end up in every answer.
const MAX_CHARACTERS: usize = 64;

/// How exchanges are called, and which ones a name stands for.
#[derive(Debug, Clone)]
pub struct Dexes {
    names: HashMap<Exchange, String>,
    /// By name in lower case. Several where the exchange has several factories, on this chain or on others, or where
    /// its style is not told.
    exchanges: HashMap<String, Vec<Exchange>>,
}

/// A name that the operator gives to the pools of a factory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DexEntry {
    pub name: String,
    pub factory: String,
}

/// Why the operator's names cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DexesError {
    #[error("a dex has an empty name")]
    EmptyName,
    #[error("the dex name `{name}` is longer than {MAX_CHARACTERS} characters")]
    LongName { name: String },
    #[error("the dex name `{name}` begins or ends with a space, or has a control character")]
    UntidyName { name: String },
    #[error("the dex name `{name}` has the form that stands for factories without a name")]
    ReservedName { name: String },
    #[error("the factory `{factory}` of the dex `{name}` must be 0x and 40 hexadecimal digits")]
    BadFactory { name: String, factory: String },
    #[error("the factory {factory} is named twice")]
    RepeatedFactory { factory: Address },
}

impl Dexes {
    /// The known exchanges and the operator's. The operator's word goes first: a name or a factory that stands in both
    /// is the operator's.
    pub fn with(entries: &[DexEntry]) -> Result<Self, DexesError> {
        let mut given = Vec::new();
        let (mut names, mut factories) = (HashSet::new(), HashSet::new());
        for entry in entries {
            let factory = check(entry)?;
            // An exchange with several factories has one name for all of them.
            names.insert(entry.name.to_lowercase());
            if !factories.insert(factory) {
                return Err(DexesError::RepeatedFactory { factory });
            }
            // A factory makes pools of one style; which one shows in its trades.
            given
                .extend([PoolStyle::V2, PoolStyle::V3].map(|style| (entry.name.as_str(), Exchange { style, factory })));
        }
        let known = known::KNOWN
            .into_iter()
            .filter(|(name, exchange)| !names.contains(&name.to_lowercase()) && !factories.contains(&exchange.factory));
        Ok(given.into_iter().chain(known).collect())
    }

    /// What an exchange is called.
    #[must_use]
    pub fn name(&self, exchange: Exchange) -> Cow<'_, str> {
        match self.names.get(&exchange) {
            Some(name) => name.into(),
            None => format!("{}0x{:x}", prefix(exchange.style), exchange.factory).into(),
        }
    }

    /// Which exchanges a text in any letter case may mean, each once.
    #[must_use]
    pub fn exchanges(&self, text: &str) -> Vec<Exchange> {
        let text = text.to_lowercase();
        match parse_nameless(&text) {
            Some(exchange) => vec![exchange],
            None => self.exchanges.get(&text).cloned().unwrap_or_default(),
        }
    }
}

impl Default for Dexes {
    fn default() -> Self {
        known::KNOWN.into_iter().collect()
    }
}

impl<'a> FromIterator<(&'a str, Exchange)> for Dexes {
    fn from_iter<I: IntoIterator<Item = (&'a str, Exchange)>>(named: I) -> Self {
        let mut dexes = Self { names: HashMap::new(), exchanges: HashMap::new() };
        for (name, exchange) in named {
            dexes.names.insert(exchange, name.to_owned());
            dexes.exchanges.entry(name.to_lowercase()).or_default().push(exchange);
        }
        dexes
    }
}

fn check(entry: &DexEntry) -> Result<Address, DexesError> {
    let name = entry.name.clone();
    if name.is_empty() {
        return Err(DexesError::EmptyName);
    }
    if name.chars().count() > MAX_CHARACTERS {
        return Err(DexesError::LongName { name });
    }
    if name.trim() != name || name.chars().any(char::is_control) {
        return Err(DexesError::UntidyName { name });
    }
    if parse_nameless(&name.to_lowercase()).is_some() {
        return Err(DexesError::ReservedName { name });
    }
    parse_address(&entry.factory).ok_or_else(|| DexesError::BadFactory { name, factory: entry.factory.clone() })
}

fn prefix(style: PoolStyle) -> &'static str {
    match style {
        PoolStyle::V2 => "v2-",
        PoolStyle::V3 => "v3-",
    }
}

/// Reads, in lower case, what a factory without a name is called.
fn parse_nameless(text: &str) -> Option<Exchange> {
    [PoolStyle::V2, PoolStyle::V3].into_iter().find_map(|style| {
        let factory = parse_address(text.strip_prefix(prefix(style))?)?;
        Some(Exchange { style, factory })
    })
}

fn parse_address(text: &str) -> Option<Address> {
    text.starts_with("0x").then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests;
