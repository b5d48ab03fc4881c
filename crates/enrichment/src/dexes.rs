//! Names of exchanges.

mod known;

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use domain::{Address, Exchange, PoolStyle};
use serde::Deserialize;

/// Maximum length of a name: a longer one is most likely a mistake in the file.
const MAX_CHARACTERS: usize = 64;

/// The names of exchanges, and the exchanges of a name.
#[derive(Debug, Clone)]
pub struct Dexes {
    names: HashMap<Exchange, String>,
    /// By name in lower case. Several if the exchange has several factories, on this or other chains, or if the operator
    /// named the factory without a style.
    exchanges: HashMap<String, Vec<Exchange>>,
}

/// The operator's name for the pools of a factory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DexEntry {
    pub name: String,
    pub factory: String,
}

/// An error in the operator's names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DexesError {
    #[error("a dex has an empty name")]
    EmptyName,
    #[error("the dex name `{name}` is longer than {MAX_CHARACTERS} characters")]
    LongName { name: String },
    #[error("the dex name `{name}` begins or ends with a space, or has a control character")]
    UntidyName { name: String },
    #[error("the dex name `{name}` has the form reserved for factories without a name")]
    ReservedName { name: String },
    #[error("the factory `{factory}` of the dex `{name}` must be 0x and 40 hexadecimal digits")]
    BadFactory { name: String, factory: String },
    #[error("the factory {factory} has two names")]
    RepeatedFactory { factory: Address },
}

impl Dexes {
    /// The built-in exchanges and the operator's, which take precedence by name and by factory.
    pub fn with(entries: &[DexEntry]) -> Result<Self, DexesError> {
        let mut configured = Vec::new();
        let (mut names, mut factories) = (HashSet::new(), HashSet::new());
        for entry in entries {
            let factory = check(entry)?;
            // Several factories may have the same name.
            names.insert(entry.name.to_lowercase());
            if !factories.insert(factory) {
                return Err(DexesError::RepeatedFactory { factory });
            }
            // The style of a factory is known only from its trades, so both are named.
            configured.extend(PoolStyle::ALL.map(|style| (entry.name.as_str(), Exchange { style, factory })));
        }
        let known = known::KNOWN
            .into_iter()
            .filter(|(name, exchange)| !names.contains(&name.to_lowercase()) && !factories.contains(&exchange.factory));
        Ok(configured.into_iter().chain(known).collect())
    }

    /// The name of an exchange, or its style and factory.
    #[must_use]
    pub fn name(&self, exchange: Exchange) -> Cow<'_, str> {
        match self.names.get(&exchange) {
            Some(name) => name.into(),
            None => format!("{}0x{:x}", prefix(exchange.style), exchange.factory).into(),
        }
    }

    /// The exchanges with a name, in any letter case.
    #[must_use]
    pub fn exchanges(&self, name: &str) -> Vec<Exchange> {
        let name = name.to_lowercase();
        match parse_unnamed(&name) {
            Some(exchange) => vec![exchange],
            None => self.exchanges.get(&name).cloned().unwrap_or_default(),
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
    if parse_unnamed(&name.to_lowercase()).is_some() {
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

/// Parses the name of an exchange that has none, such as `v2-0x…`, in lower case.
fn parse_unnamed(text: &str) -> Option<Exchange> {
    PoolStyle::ALL.into_iter().find_map(|style| {
        let factory = parse_address(text.strip_prefix(prefix(style))?)?;
        Some(Exchange { style, factory })
    })
}

fn parse_address(text: &str) -> Option<Address> {
    text.starts_with("0x").then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests;
