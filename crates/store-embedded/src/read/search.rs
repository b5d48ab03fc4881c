use std::cmp::Reverse;
use std::collections::BTreeSet;

use domain::Token;
use store::StoreError;

use super::ReadSnapshot;
use crate::keys::{ID_BYTES, Key, Table, number_in_key};
use crate::token_names::folded;

/// Tokens that begin alike and are looked at, so that one letter does not read through the names of a whole chain.
const LOOKED_AT: usize = 200;

impl ReadSnapshot {
    pub(crate) fn search_tokens(&self, beginning: &str, limit: usize) -> Result<Vec<Token>, StoreError> {
        let beginning = folded(beginning);
        let Some(prefix) = Key::from_slice(&beginning).filter(|_| !beginning.is_empty()) else { return Ok(Vec::new()) };
        let mut ids = BTreeSet::new();
        for row in self.view.prefix(Table::TokenName, &prefix).take(LOOKED_AT) {
            let key = row?.0;
            ids.insert(number_in_key(&key, key.len().saturating_sub(ID_BYTES)));
        }
        let mut tokens = Vec::with_capacity(ids.len());
        for id in ids {
            // Its first transfer may have been taken back since it was asked for its name.
            let Ok(address) = self.address(id) else { continue };
            tokens.extend(self.token(id, address)?);
        }
        // An index of an older version may still have names under ids that a reorg gave to other tokens.
        tokens.retain(|token: &Token| {
            [&token.facts.name, &token.facts.symbol].iter().any(|name| folded(name).starts_with(&beginning))
        });
        let is_called_so = |text: &str| folded(text) == beginning;
        tokens.sort_by_key(|token| {
            let exact = is_called_so(&token.facts.symbol) || is_called_so(&token.facts.name);
            (!exact, Reverse(token.holder_count), token.address)
        });
        tokens.truncate(limit);
        Ok(tokens)
    }
}
