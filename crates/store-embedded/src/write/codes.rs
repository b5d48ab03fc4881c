//! Contract code: noticed in the chain, fetched from the node, stored once for all contracts that share it.

use std::sync::Arc;

use domain::{Address, BlockNumber, Bytes, Code};
use store::{
    StoreError,
    fetch_policy::{KnownCode, is_up_to_date},
};

use super::{addresses::stored_address, state::WriteState};
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, Table, number_in_key},
    meta,
    ranked::RankMoves,
    rows::code_hash_from_row,
    verified_contracts::{code_hash_at, relist},
};

pub(super) fn known_code(view: &View, id: AddressId) -> Result<KnownCode, StoreError> {
    Ok(match view.get(Table::CodeHash, &Key::id(id))?.map(|row| code_hash_from_row(&row)).transpose()? {
        None => KnownCode::NotFetched,
        Some(None) => KnownCode::Empty,
        Some(Some(_)) => KnownCode::Contract,
    })
}

/// The code at an address has to be fetched, at a block or later.
pub(super) fn mark_code_pending(batch: &mut Batch, id: AddressId, since: BlockNumber) {
    batch.put(Table::PendingCode, &Key::id(id), Key::block(since).as_slice());
}

impl WriteState {
    pub(crate) fn list_pending_codes(engine: &Engine, limit: usize) -> Result<Vec<Address>, StoreError> {
        let view = engine.view();
        let pending = view.prefix(Table::PendingCode, &Key::EMPTY).take(limit);
        pending.map(|row| stored_address(&view, number_in_key(&row?.0, 0)?)).collect()
    }

    pub(crate) fn save_codes(
        &mut self,
        engine: &Engine,
        codes: &[(Address, Bytes)],
        at: BlockNumber,
    ) -> Result<(), StoreError> {
        let listing = Arc::clone(&self.listing);
        let _guard = listing.lock();
        let view = engine.view();
        let Some(tip) = meta::find_tip(&view)? else { return Ok(()) };
        let (mut batch, mut listed) = (engine.batch(), RankMoves::default());
        for (address, code) in codes {
            // The address may be gone: its block was reverted while its code was being fetched.
            let Some(row) = view.get(Table::AddressId, &Key::address(address))? else { continue };
            let id = number_in_key(&row, 0)?;
            let key = Key::id(id);
            let Some(since) = view.get(Table::PendingCode, &key)? else { continue };
            if is_up_to_date(at, number_in_key(&since, 0)?, tip.block.number) {
                batch.delete(Table::PendingCode, &key);
            }
            let known = Code::from_bytes(code);
            relist(&view, &mut batch, &mut listed, *address, code_hash_at(&view, id)?, known.hash())?;
            match known {
                Code::Contract { hash } => {
                    batch.put(Table::CodeHash, &key, hash.as_slice());
                    if view.get(Table::Code, &Key::hash(&hash))?.is_none() {
                        batch.put(Table::Code, &Key::hash(&hash), code.as_ref());
                    }
                }
                Code::None | Code::Delegation { .. } => {
                    batch.put(Table::CodeHash, &key, []);
                    self.known_codes.take(&id);
                }
            }
        }
        listed.write(&view, &mut batch)?;
        batch.commit()
    }
}
