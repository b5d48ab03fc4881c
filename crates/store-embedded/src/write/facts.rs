//! Token metadata fetched from contracts.

use std::collections::BTreeSet;

use domain::{Address, BlockNumber, TokenFacts, TokenQuestion};
use store::StoreError;

use super::{
    WriteState,
    tokens::{raise_token_question, stored_address},
};
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, Table, number_in_key},
    meta,
    rows::{TokenRow, facts_from_row, facts_to_row},
    token_names,
};

/// An active token is fetched again when its metadata is this many blocks old: some hours on most chains.
const FACTS_AGE: u64 = 10_000;

/// At least one in this many questions of a round is a refresh, however many new tokens there are.
const REFRESH_SHARE: usize = 4;

impl WriteState {
    pub(crate) fn list_token_questions(
        &mut self,
        engine: &Engine,
        limit: usize,
    ) -> Result<Vec<TokenQuestion>, StoreError> {
        let view = engine.view();
        let new = view.prefix(Table::NewToken, &Key::EMPTY).take(limit);
        let mut new: Vec<AddressId> =
            new.map(|row| Ok(number_in_key(&row?.0, 0))).collect::<Result<_, StoreError>>()?;
        let mut refreshes = self.next_refreshes(&view, limit)?;
        refreshes.retain(|id| new.binary_search(id).is_err());
        refreshes.truncate((limit / REFRESH_SHARE).max(limit.saturating_sub(new.len())));
        new.truncate(limit - refreshes.len());
        self.last_refreshed = refreshes.last().copied().or(self.last_refreshed);
        let question = |id: AddressId| {
            let token = view.get(Table::Token, &Key::id(id))?;
            let token = token.ok_or(StoreError::Corrupt("a question about a missing token"))?;
            Ok(TokenQuestion { token: stored_address(&view, id)?, kind: TokenRow::from_row(&token)?.kind })
        };
        new.into_iter().chain(refreshes).map(question).collect()
    }

    /// Continues after the last one listed, and wraps around, so that tokens that change constantly do not starve
    /// others.
    fn next_refreshes(&self, view: &View, limit: usize) -> Result<Vec<AddressId>, StoreError> {
        let first = self.last_refreshed.map_or(0, |last| last + 1);
        let behind = view.range_from(Table::TokenQuestion, &Key::id(first), &Key::EMPTY);
        let before = view.range(Table::TokenQuestion, &Key::id(0), &Key::id(first));
        behind.chain(before).take(limit).map(|row| Ok(number_in_key(&row?.0, 0))).collect()
    }

    pub(crate) fn keep_token_facts(engine: &Engine, facts: &[(Address, TokenFacts)]) -> Result<(), StoreError> {
        let view = engine.view();
        let Some(tip) = meta::find_tip(&view)? else { return Ok(()) };
        let mut batch = engine.batch();
        for (address, facts) in facts {
            // The token may be gone: its block was reverted while it was being fetched.
            let Some(id) = view.get(Table::AddressId, &Key::address(address))?.map(|row| number_in_key(&row, 0)) else {
                continue;
            };
            let key = Key::id(id);
            let mut raised = BTreeSet::new();
            for table in [Table::NewToken, Table::TokenQuestion] {
                raised.extend(view.get(table, &key)?.map(|row| number_in_key(&row, 0)));
                batch.delete(table, &key);
            }
            let Some(newest) = raised.last() else { continue };
            rename(&view, &mut batch, id, facts)?;
            batch.put(Table::TokenFacts, &key, facts_to_row(facts));
            // If the chain changed after the fetch, another one is needed. The block that raised the question may have
            // been reverted; then the tip is the newest possible block.
            let settled_at = (*newest).min(tip.block.number);
            if facts.asked_at.is_none_or(|asked_at| asked_at < settled_at) {
                raise_token_question(&mut batch, id, *newest);
            }
        }
        batch.commit()
    }
}

/// Updates the search index to the token's current names.
fn rename(view: &View, batch: &mut Batch, token: AddressId, facts: &TokenFacts) -> Result<(), StoreError> {
    let before = view.get(Table::TokenFacts, &Key::id(token))?.map(|row| facts_from_row(&row)).transpose()?;
    let (before, after) = (before.map(|before| token_names::keys(token, &before)), token_names::keys(token, facts));
    // A batch must not contain two changes of one key.
    for key in before.iter().flatten().filter(|key| !after.contains(key)) {
        batch.delete(Table::TokenName, key);
    }
    for key in &after {
        batch.put(Table::TokenName, key, Vec::new());
    }
    Ok(())
}

/// Removes a token from the search index. Its id will be assigned to another address.
pub(super) fn remove_names(view: &View, batch: &mut Batch, token: AddressId) -> Result<(), StoreError> {
    let Some(row) = view.get(Table::TokenFacts, &Key::id(token))? else { return Ok(()) };
    for key in token_names::keys(token, &facts_from_row(&row)?) {
        batch.delete(Table::TokenName, &key);
    }
    Ok(())
}

/// Raises a question about a token with new transfers if its metadata is old. A token that was never fetched has a
/// question already.
pub(super) fn refresh_if_old(
    view: &View,
    batch: &mut Batch,
    token: AddressId,
    tip: BlockNumber,
) -> Result<(), StoreError> {
    let Some(row) = view.get(Table::TokenFacts, &Key::id(token))? else { return Ok(()) };
    if facts_from_row(&row)?.asked_at.is_none_or(|asked_at| asked_at.saturating_add(FACTS_AGE) <= tip) {
        raise_token_question(batch, token, tip);
    }
    Ok(())
}
