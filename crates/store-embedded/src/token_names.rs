//! The search index of tokens by prefix of their name or symbol.

use domain::TokenMetadata;

use crate::keys::{AddressId, Key, id_bytes};

/// Bytes of a name that are indexed.
const MAX_NAME_BYTES: usize = 40;

/// Normalizes a name for comparison: lower case, truncated.
pub(crate) fn folded(text: &str) -> Vec<u8> {
    let mut folded = text.trim().to_lowercase().into_bytes();
    folded.truncate(MAX_NAME_BYTES);
    folded
}

/// Every key under which a token with this metadata is indexed.
pub(crate) fn keys(token: AddressId, metadata: &TokenMetadata) -> Vec<Key> {
    let names = [&metadata.name, &metadata.symbol].map(|text| folded(text));
    let key = |name: Vec<u8>| Key::from_slice(&name).map(|key| key.then(&id_bytes(token)));
    let mut keys: Vec<Key> = names.into_iter().filter(|name| !name.is_empty()).filter_map(key).collect();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, symbol: &str) -> TokenMetadata {
        TokenMetadata { name: name.to_owned(), symbol: symbol.to_owned(), ..TokenMetadata::default() }
    }

    #[test]
    fn a_token_is_found_by_name_and_by_symbol_ignoring_case() {
        let keys = keys(7, &metadata("Wrapped BNB", "WBNB"));
        assert!(keys[0].as_slice().starts_with(b"wrapped bnb") && keys[1].as_slice().starts_with(b"wbnb"));
    }

    #[test]
    fn a_token_without_a_name_is_not_indexed() {
        assert!(keys(7, &metadata("", " ")).is_empty());
    }

    #[test]
    fn a_long_name_is_truncated() {
        assert_eq!(keys(7, &metadata(&"x".repeat(5_000), "")).len(), 1);
    }
}
