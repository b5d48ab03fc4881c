//! Token metadata fetched from contracts.

use std::collections::BTreeSet;

use domain::{Address, BlockNumber, PendingToken, TokenMetadata};
use store::{
    StoreError,
    fetch_policy::{self, TokenRound},
};

use super::{addresses::stored_address, state::WriteState};
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, Table, number_in_key},
    meta,
    rows::{TokenRow, metadata_from_row, metadata_to_row},
    token_names,
};

impl WriteState {
    pub(crate) fn list_pending_tokens(
        &mut self,
        engine: &Engine,
        limit: usize,
    ) -> Result<Vec<PendingToken>, StoreError> {
        let view = engine.view();
        let new = view.prefix(Table::NewToken, &Key::EMPTY).take(limit);
        let new = new.map(|row| number_in_key(&row?.0, 0)).collect::<Result<Vec<AddressId>, StoreError>>()?;
        let TokenRound { new, refreshes } = fetch_policy::share_round(new, self.next_refreshes(&view, limit)?, limit);
        self.last_refreshed = refreshes.last().copied().or(self.last_refreshed);
        let pending = |id: AddressId| {
            let token = view.get(Table::Token, &Key::id(id))?;
            let token = token.ok_or(StoreError::Corrupt("a pending token is missing"))?;
            Ok(PendingToken { token: stored_address(&view, id)?, kind: TokenRow::from_row(&token)?.kind })
        };
        new.into_iter().chain(refreshes).map(pending).collect()
    }

    /// Continues after the last one listed, and wraps around, so that tokens that change constantly do not starve
    /// others.
    fn next_refreshes(&self, view: &View, limit: usize) -> Result<Vec<AddressId>, StoreError> {
        let first = self.last_refreshed.map_or(0, |last| last + 1);
        let behind = view.range_from(Table::PendingToken, &Key::id(first), &Key::EMPTY);
        let before = view.range(Table::PendingToken, &Key::id(0), &Key::id(first));
        behind.chain(before).take(limit).map(|row| number_in_key(&row?.0, 0)).collect()
    }

    pub(crate) fn save_token_metadata(
        engine: &Engine,
        metadata: &[(Address, TokenMetadata)],
    ) -> Result<(), StoreError> {
        let view = engine.view();
        let Some(tip) = meta::find_tip(&view)? else { return Ok(()) };
        let mut batch = engine.batch();
        for (address, metadata) in metadata {
            // The token may be gone: its block was reverted while it was being fetched.
            let Some(row) = view.get(Table::AddressId, &Key::address(address))? else { continue };
            let id = number_in_key(&row, 0)?;
            let key = Key::id(id);
            let mut since = BTreeSet::new();
            for table in [Table::NewToken, Table::PendingToken] {
                since.extend(view.get(table, &key)?.map(|row| number_in_key(&row, 0)).transpose()?);
            }
            let Some(newest) = since.last() else { continue };
            batch.delete(Table::NewToken, &key);
            rename(&view, &mut batch, id, metadata)?;
            batch.put(Table::TokenMetadata, &key, metadata_to_row(metadata));
            let is_up_to_date = |at| fetch_policy::is_up_to_date(at, *newest, tip.block.number);
            // A batch must not contain two changes of one key.
            if metadata.requested_at.is_some_and(is_up_to_date) {
                batch.delete(Table::PendingToken, &key);
            } else {
                mark_token_pending(&mut batch, id, *newest);
            }
        }
        batch.commit()
    }
}

/// Updates the search index to the token's current names.
fn rename(view: &View, batch: &mut Batch, token: AddressId, metadata: &TokenMetadata) -> Result<(), StoreError> {
    let before = view.get(Table::TokenMetadata, &Key::id(token))?.map(|row| metadata_from_row(&row)).transpose()?;
    let (before, after) = (before.map(|before| token_names::keys(token, &before)), token_names::keys(token, metadata));
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
    let Some(row) = view.get(Table::TokenMetadata, &Key::id(token))? else { return Ok(()) };
    for key in token_names::keys(token, &metadata_from_row(&row)?) {
        batch.delete(Table::TokenName, &key);
    }
    Ok(())
}

/// Marks a token with new transfers as pending if its metadata is old. A token that was never fetched is pending
/// already.
pub(super) fn refresh_if_old(
    view: &View,
    batch: &mut Batch,
    token: AddressId,
    tip: BlockNumber,
) -> Result<(), StoreError> {
    let Some(row) = view.get(Table::TokenMetadata, &Key::id(token))? else { return Ok(()) };
    if fetch_policy::is_metadata_old(metadata_from_row(&row)?.requested_at, tip) {
        mark_token_pending(batch, token, tip);
    }
    Ok(())
}

/// The token's metadata has to be fetched, at a block or later.
pub(super) fn mark_token_pending(batch: &mut Batch, token: AddressId, since: BlockNumber) {
    batch.put(Table::PendingToken, &Key::id(token), Key::block(since).as_slice());
}
