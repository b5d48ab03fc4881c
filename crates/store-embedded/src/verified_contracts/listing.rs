//! The list of verified contracts: those that still have the verified code, as far as the index knows.

use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::{Address, B256, Balance, Order, PageRequest};
use store::StoreError;

use super::records::contract_in;
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, Table, id_bytes, number_in_key},
    ranked::{RankMoves, RankedSet, SortKey, member_count, members_from},
    rows::code_hash_from_row,
};

/// The tables of the list.
pub(crate) const LISTED: [Table; 2] = [Table::VerifiedListed, Table::VerifiedListedCount];
/// Contracts that one commit lists.
const AT_ONCE: usize = 1_000;

/// Guards the list: verifications and the chain writer both read and change it.
#[derive(Debug, Default)]
pub(crate) struct Listing(Mutex<()>);

impl Listing {
    /// To be held from before the state is read until the change is committed.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hash of the contract code at an address, if it was fetched.
pub(crate) fn code_hash_at(view: &View, id: AddressId) -> Result<Option<B256>, StoreError> {
    let row = view.get(Table::CodeHash, &Key::id(id))?;
    row.map_or(Ok(None), |row| code_hash_from_row(&row))
}

/// Updates the list after a change of the code at an address.
pub(crate) fn relist(
    view: &View,
    batch: &mut Batch,
    moves: &mut RankMoves,
    address: Address,
    before: Option<B256>,
    now: Option<B256>,
) -> Result<(), StoreError> {
    if before == now {
        return Ok(());
    }
    if let Some(number) = before.map(|hash| find_number(view, &address, &hash)).transpose()?.flatten() {
        moves.remove(batch, RankedSet::VerifiedContracts, &sort_key(number));
    }
    if let Some(number) = now.map(|hash| find_number(view, &address, &hash)).transpose()?.flatten() {
        moves.insert(batch, RankedSet::VerifiedContracts, &sort_key(number));
    }
    Ok(())
}

/// Lists a contract that was just verified, if it still has this code.
pub(super) fn list(
    view: &View,
    batch: &mut Batch,
    number: u64,
    address: &Address,
    code_hash: B256,
) -> Result<(), StoreError> {
    let mut moves = RankMoves::default();
    insert(view, batch, &mut moves, number, address, code_hash)?;
    moves.write(view, batch)
}

/// Like [`list`], for several contracts: the moves are still to be written.
pub(super) fn insert(
    view: &View,
    batch: &mut Batch,
    moves: &mut RankMoves,
    number: u64,
    address: &Address,
    code_hash: B256,
) -> Result<(), StoreError> {
    if has_code(view, address, code_hash)? {
        moves.insert(batch, RankedSet::VerifiedContracts, &sort_key(number));
    }
    Ok(())
}

/// Takes a contract off the list, if it is there.
pub(super) fn remove(
    view: &View,
    batch: &mut Batch,
    moves: &mut RankMoves,
    number: u64,
    address: &Address,
    code_hash: B256,
) -> Result<(), StoreError> {
    if has_code(view, address, code_hash)? {
        moves.remove(batch, RankedSet::VerifiedContracts, &sort_key(number));
    }
    Ok(())
}

fn has_code(view: &View, address: &Address, code_hash: B256) -> Result<bool, StoreError> {
    let id = view.get(Table::AddressId, &Key::address(address))?.map(|row| number_in_key(&row, 0)).transpose()?;
    Ok(id.map(|id| code_hash_at(view, id)).transpose()?.flatten() == Some(code_hash))
}

/// Lists all verified contracts that the index knows with their code. The list is empty.
pub(crate) fn list_all(engine: &Engine) -> Result<(), StoreError> {
    let mut from = Key::EMPTY;
    loop {
        let (view, mut batch, mut moves) = (engine.view(), engine.batch(), RankMoves::default());
        let mut read = 0;
        for row in view.range_from(Table::VerifiedByNumber, &from, &Key::EMPTY).take(AT_ONCE) {
            let (key, row) = row?;
            let number = number_in_key(&key, 0)?;
            let (address, code_hash) = contract_in(&row)?;
            insert(&view, &mut batch, &mut moves, number, &address, code_hash)?;
            from = Key::id(number + 1);
            read += 1;
        }
        moves.write(&view, &mut batch)?;
        batch.commit()?;
        if read < AT_ONCE {
            return Ok(());
        }
    }
}

/// The sequential id of a verified contract.
pub(super) fn find_number(view: &View, address: &Address, code_hash: &B256) -> Result<Option<u64>, StoreError> {
    view.get(Table::VerifiedNumber, &Key::contract(address, code_hash))?.map(|row| number_in_key(&row, 0)).transpose()
}

/// The length of the list, and the sequential ids on a page.
pub(super) fn page(view: &View, page: PageRequest) -> Result<(u64, Vec<u64>), StoreError> {
    let total = member_count(view, RankedSet::VerifiedContracts)?;
    let ranks: Vec<u64> = page.ranks(total).collect();
    let Some(&first) = ranks.iter().min() else { return Ok((total, Vec::new())) };
    let keys = members_from(view, RankedSet::VerifiedContracts, first, ranks.len())?;
    let numbers = keys.iter().map(|key| {
        let (_, number) =
            SortKey::parts(key).ok_or(StoreError::Corrupt("an invalid sort key of a verified contract"))?;
        number_in_key(number, 0)
    });
    let mut numbers: Vec<u64> = numbers.collect::<Result<_, StoreError>>()?;
    if page.order == Order::NewestFirst {
        numbers.reverse();
    }
    Ok((total, numbers))
}

fn sort_key(number: u64) -> SortKey {
    SortKey::descending(&Balance::ZERO, &id_bytes(number))
}
