//! Tokens by the beginning of their name or symbol.

use domain::TokenFacts;

use crate::keys::{AddressId, Key, id_bytes};

/// Bytes of a name that are looked at.
const LONGEST: usize = 40;

/// How a name is compared: letter case aside, and no further than its beginning.
pub(crate) fn folded(text: &str) -> Vec<u8> {
    let mut folded = text.trim().to_lowercase().into_bytes();
    folded.truncate(LONGEST);
    folded
}

/// Every key under which a token with such facts is found.
pub(crate) fn keys(token: AddressId, facts: &TokenFacts) -> Vec<Key> {
    let names = [&facts.name, &facts.symbol].map(|text| folded(text));
    let key = |name: Vec<u8>| Key::from_slice(&name).map(|key| key.then(&id_bytes(token)));
    let mut keys: Vec<Key> = names.into_iter().filter(|name| !name.is_empty()).filter_map(key).collect();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, symbol: &str) -> TokenFacts {
        TokenFacts { name: name.to_owned(), symbol: symbol.to_owned(), ..TokenFacts::default() }
    }

    #[test]
    fn a_token_is_found_by_name_and_by_symbol_in_any_letter_case() {
        let keys = keys(7, &facts("Wrapped BNB", "WBNB"));
        assert!(keys[0].as_slice().starts_with(b"wrapped bnb") && keys[1].as_slice().starts_with(b"wbnb"));
    }

    #[test]
    fn a_token_without_a_name_is_found_by_none() {
        assert!(keys(7, &facts("", " ")).is_empty());
    }

    #[test]
    fn a_name_as_long_as_it_likes_is_cut() {
        assert_eq!(keys(7, &facts(&"x".repeat(5_000), "")).len(), 1);
    }
}
