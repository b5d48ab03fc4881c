use std::{cmp::Reverse, collections::BTreeSet};

use domain::Token;
use store::StoreError;

use super::snapshot::ReadSnapshot;
use crate::{
    keys::{ID_BYTES, Key, Table, number_in_key},
    rows::AddressRow,
    token_names::folded,
};

/// Maximum tokens considered for one prefix, so that a single letter does not scan the names of the whole chain.
const MAX_CANDIDATES: usize = 200;

impl ReadSnapshot {
    pub(crate) fn search_tokens(&self, beginning: &str, limit: usize) -> Result<Vec<Token>, StoreError> {
        let beginning = folded(beginning);
        let Some(prefix) = Key::from_slice(&beginning).filter(|_| !beginning.is_empty()) else { return Ok(Vec::new()) };
        let mut ids = BTreeSet::new();
        for row in self.view.prefix(Table::TokenName, &prefix).take(MAX_CANDIDATES) {
            let key = row?.0;
            ids.insert(number_in_key(&key, key.len().saturating_sub(ID_BYTES))?);
        }
        let mut tokens = Vec::with_capacity(ids.len());
        for id in ids {
            // Its first transfer may have been reverted since its name was fetched.
            let Some(AddressRow { address, .. }) = self.find_address_row(id)? else { continue };
            tokens.extend(self.token(id, address)?);
        }
        // In a key, the id follows the name: a zero byte that somebody searches for is found there.
        tokens.retain(|token: &Token| {
            [&token.metadata.name, &token.metadata.symbol].iter().any(|name| folded(name).starts_with(&beginning))
        });
        let is_exact_match = |text: &str| folded(text) == beginning;
        tokens.sort_by_key(|token| {
            let exact = is_exact_match(&token.metadata.symbol) || is_exact_match(&token.metadata.name);
            (!exact, Reverse(token.holder_count), token.address)
        });
        tokens.truncate(limit);
        Ok(tokens)
    }
}
