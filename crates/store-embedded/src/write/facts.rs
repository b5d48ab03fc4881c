//! What tokens say of themselves, kept beside what their transfers say.

use std::collections::BTreeSet;

use domain::{Address, BlockNumber, TokenFacts, TokenQuestion};
use store::StoreError;

use super::WriteState;
use super::tokens::{raise_token_question, stored_address};
use crate::engine::{Batch, Engine, View};
use crate::keys::{AddressId, Key, Table, number_in_key};
use crate::meta;
use crate::rows::{TokenRow, facts_from_row, facts_to_row};
use crate::token_names;

/// A token that is in use is asked refreshes when its last answer is this many blocks old: some hours on most chains.
const FACTS_AGE: u64 = 10_000;

/// Of one round of questions, at least one in so many is left to tokens that are asked refreshes, however many new ones
/// there are.
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
            let token = token.ok_or(StoreError::Corrupt("a question about no token"))?;
            Ok(TokenQuestion { token: stored_address(&view, id)?, kind: TokenRow::from_row(&token)?.kind })
        };
        new.into_iter().chain(refreshes).map(question).collect()
    }

    /// Behind the last one that was given out, and round: tokens that always have something new to say do not keep
    /// others from being asked.
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
            // A token may be gone refreshes by now: its block was taken back while it was being asked.
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
            // What the chain did after the node was asked wants another answer. The block that put the question may have
            // been taken back: then the tip is as new as anything can be.
            let settled_at = (*newest).min(tip.block.number);
            if facts.asked_at.is_none_or(|asked_at| asked_at < settled_at) {
                raise_token_question(&mut batch, id, *newest);
            }
        }
        batch.commit()
    }
}

/// Makes a token found by the names it gives itself now.
fn rename(view: &View, batch: &mut Batch, token: AddressId, facts: &TokenFacts) -> Result<(), StoreError> {
    let before = view.get(Table::TokenFacts, &Key::id(token))?.map(|row| facts_from_row(&row)).transpose()?;
    let (before, after) = (before.map(|before| token_names::keys(token, &before)), token_names::keys(token, facts));
    // A batch must not hold two changes of one key.
    for key in before.iter().flatten().filter(|key| !after.contains(key)) {
        batch.delete(Table::TokenName, key);
    }
    for key in &after {
        batch.put(Table::TokenName, key, Vec::new());
    }
    Ok(())
}

/// Removes a token from the search. Its id goes to another address.
pub(super) fn remove_names(view: &View, batch: &mut Batch, token: AddressId) -> Result<(), StoreError> {
    let Some(row) = view.get(Table::TokenFacts, &Key::id(token))? else { return Ok(()) };
    for key in token_names::keys(token, &facts_from_row(&row)?) {
        batch.delete(Table::TokenName, &key);
    }
    Ok(())
}

/// Has a token that moved asked refreshes, if that was long ago. One that was never asked is on the list anyway.
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
