//! What tokens say of themselves, kept beside what their transfers say.

use domain::{Address, TokenFacts, TokenQuestion};
use store::StoreError;

use super::WriteState;
use super::tokens::stored_address;
use crate::engine::{Batch, Engine, View};
use crate::keys::{AddressId, Key, Table, number_in_key};
use crate::meta;
use crate::rows::{TokenRow, facts_from_row, facts_to_row};
use crate::token_names;

impl WriteState {
    pub(crate) fn list_token_questions(engine: &Engine, limit: usize) -> Result<Vec<TokenQuestion>, StoreError> {
        let view = engine.view();
        view.prefix(Table::TokenQuestion, &Key::EMPTY)
            .take(limit)
            .map(|row| {
                let id = number_in_key(&row?.0, 0);
                let token = view.get(Table::Token, &Key::id(id))?;
                let token = token.ok_or(StoreError::Corrupt("a question about no token"))?;
                Ok(TokenQuestion { token: stored_address(&view, id)?, kind: TokenRow::from_row(&token)?.kind })
            })
            .collect()
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
            let Some(asked_since) = view.get(Table::TokenQuestion, &key)? else { continue };
            rename(&view, &mut batch, id, facts)?;
            batch.put(Table::TokenFacts, &key, facts_to_row(facts));
            // What the chain did after the node was asked wants another answer. The block that put the question may have
            // been taken back: then the tip is as new as anything can be.
            let settled_at = number_in_key(&asked_since, 0).min(tip.block.number);
            if facts.asked_at.is_some_and(|asked_at| asked_at >= settled_at) {
                batch.delete(Table::TokenQuestion, &key);
            }
        }
        batch.commit()
    }
}

/// Makes a token found by the names it gives itself now.
fn rename(view: &View, batch: &mut Batch, token: AddressId, facts: &TokenFacts) -> Result<(), StoreError> {
    let before = view.get(Table::TokenFacts, &Key::id(token))?.map(|row| facts_from_row(&row)).transpose()?;
    for key in before.iter().flat_map(|before| token_names::keys(token, before)) {
        batch.delete(Table::TokenName, &key);
    }
    for key in token_names::keys(token, facts) {
        batch.put(Table::TokenName, &key, Vec::new());
    }
    Ok(())
}
