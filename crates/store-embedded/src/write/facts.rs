//! What tokens say of themselves, kept beside what their transfers say.

use std::collections::BTreeSet;

use domain::{Address, BlockNumber, TokenFacts, TokenQuestion};
use store::StoreError;

use super::WriteState;
use super::tokens::{ask_again, stored_address};
use crate::engine::{Batch, Engine, View};
use crate::keys::{AddressId, Key, Table, number_in_key};
use crate::meta;
use crate::rows::{TokenRow, facts_from_row, facts_to_row};
use crate::token_names;

/// A token that is in use is asked again when its last answer is this many blocks old: some hours on most chains.
const FACTS_AGE: u64 = 10_000;

/// Of one round of questions, at least one in so many is left to tokens that are asked again, however many new ones
/// there are.
const SHARE_OF_ASKED_AGAIN: usize = 4;

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
        let mut again = self.next_asked_again(&view, limit)?;
        again.retain(|id| new.binary_search(id).is_err());
        again.truncate((limit / SHARE_OF_ASKED_AGAIN).max(limit.saturating_sub(new.len())));
        new.truncate(limit - again.len());
        self.last_asked_again = again.last().copied().or(self.last_asked_again);
        let question = |id: AddressId| {
            let token = view.get(Table::Token, &Key::id(id))?;
            let token = token.ok_or(StoreError::Corrupt("a question about no token"))?;
            Ok(TokenQuestion { token: stored_address(&view, id)?, kind: TokenRow::from_row(&token)?.kind })
        };
        new.into_iter().chain(again).map(question).collect()
    }

    /// Behind the last one that was given out, and round: tokens that always have something new to say do not keep
    /// others from being asked.
    fn next_asked_again(&self, view: &View, limit: usize) -> Result<Vec<AddressId>, StoreError> {
        let first = self.last_asked_again.map_or(0, |last| last + 1);
        let behind = view.range_from(Table::TokenQuestion, &Key::id(first), &Key::EMPTY);
        let before = view.range(Table::TokenQuestion, &Key::id(0), &Key::id(first));
        behind.chain(before).take(limit).map(|row| Ok(number_in_key(&row?.0, 0))).collect()
    }

    pub(crate) fn keep_token_facts(engine: &Engine, facts: &[(Address, TokenFacts)]) -> Result<(), StoreError> {
        let view = engine.view();
        let Some(tip) = meta::find_tip(&view)? else { return Ok(()) };
        let mut batch = engine.batch();
        for (address, facts) in facts {
            // A token may be gone again by now: its block was taken back while it was being asked.
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
                ask_again(&mut batch, id, *newest);
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
pub(super) fn forget_names(view: &View, batch: &mut Batch, token: AddressId) -> Result<(), StoreError> {
    let Some(row) = view.get(Table::TokenFacts, &Key::id(token))? else { return Ok(()) };
    for key in token_names::keys(token, &facts_from_row(&row)?) {
        batch.delete(Table::TokenName, &key);
    }
    Ok(())
}

/// Has a token that moved asked again, if that was long ago. One that was never asked is on the list anyway.
pub(super) fn refresh(view: &View, batch: &mut Batch, token: AddressId, tip: BlockNumber) -> Result<(), StoreError> {
    let Some(row) = view.get(Table::TokenFacts, &Key::id(token))? else { return Ok(()) };
    if facts_from_row(&row)?.asked_at.is_none_or(|asked_at| asked_at.saturating_add(FACTS_AGE) <= tip) {
        ask_again(batch, token, tip);
    }
    Ok(())
}
