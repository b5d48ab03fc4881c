//! Contract code: noticed in the chain, fetched from the node, stored once for all contracts that share it.

use std::sync::Arc;

use domain::{Address, BlockNumber, Bytes, Code};
use store::StoreError;

use super::{WriteState, commit::Step, tokens::stored_address};
use crate::{
    engine::{Batch, Engine},
    keys::{AddressId, Key, Table, number_in_key},
    meta,
    ranked::RankMoves,
    verified_contracts::{code_hash_at, relist},
};

impl Step<'_, '_> {
    /// Code ran at an address: it emitted a log, created a contract, or was created.
    pub(super) fn note_contract(&mut self, id: AddressId, block: BlockNumber) -> Result<(), StoreError> {
        self.note_code(id, block, |known| !known.is_empty())
    }

    /// An address was called as if it had code. If it is known to have none, it is not fetched again.
    pub(super) fn note_called(&mut self, id: AddressId, block: BlockNumber) -> Result<(), StoreError> {
        self.note_code(id, block, |_| true)
    }

    fn note_code(
        &mut self,
        id: AddressId,
        block: BlockNumber,
        is_sufficient: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        if self.state.known_codes.get(&id).is_some() {
            return Ok(());
        }
        match self.view.get(Table::CodeHash, &Key::id(id))? {
            // Not cached without a hash: the address may become a contract later.
            Some(known) if is_sufficient(&known) => {
                if !known.is_empty() {
                    self.state.known_codes.insert(id, ());
                }
            }
            _ => self.note_new_code(id, block),
        }
        Ok(())
    }

    /// The code at an address may be new since a block.
    pub(super) fn note_new_code(&mut self, id: AddressId, block: BlockNumber) {
        raise_code_question(&mut self.batch, id, block);
        self.state.known_codes.insert(id, ());
    }
}

/// Raises a question about the code at an address, at a block or later.
pub(super) fn raise_code_question(batch: &mut Batch, id: AddressId, since: BlockNumber) {
    batch.put(Table::CodeQuestion, &Key::id(id), Key::block(since).as_slice());
}

impl WriteState {
    pub(crate) fn list_code_questions(engine: &Engine, limit: usize) -> Result<Vec<Address>, StoreError> {
        let view = engine.view();
        let open = view.prefix(Table::CodeQuestion, &Key::EMPTY).take(limit);
        open.map(|row| stored_address(&view, number_in_key(&row?.0, 0))).collect()
    }

    pub(crate) fn keep_codes(
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
            let Some(id) = view.get(Table::AddressId, &Key::address(address))?.map(|row| number_in_key(&row, 0)) else {
                continue;
            };
            let key = Key::id(id);
            let Some(raised) = view.get(Table::CodeQuestion, &key)? else { continue };
            if at >= number_in_key(&raised, 0).min(tip.block.number) {
                batch.delete(Table::CodeQuestion, &key);
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
