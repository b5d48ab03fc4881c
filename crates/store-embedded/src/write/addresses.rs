use domain::{Address, BlockNumber};
use store::StoreError;

use crate::{
    cache::{AgedCache, FastMap},
    engine::{Batch, View},
    keys::{AddressId, Key, Table, number_in_key},
    rows::AddressRow,
};

/// Assigns ids to addresses in the order of their first appearance.
#[derive(Debug)]
pub(crate) struct AddressIds {
    committed: AgedCache<Address, AddressId>,
    /// First seen in the current batch.
    new: FastMap<Address, AddressId>,
    /// The same, sorted by id.
    new_in_order: Vec<(AddressId, Address)>,
}

impl AddressIds {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { committed: AgedCache::new(capacity), new: FastMap::default(), new_in_order: Vec::new() }
    }

    /// The id of an address; a new one gets `next`, which is then incremented.
    pub(crate) fn resolve(
        &mut self,
        view: &View,
        batch: &mut Batch,
        address: Address,
        block: BlockNumber,
        next: &mut AddressId,
    ) -> Result<AddressId, StoreError> {
        if let Some(&id) = self.new.get(&address) {
            return Ok(id);
        }
        if let Some(id) = self.committed.get(&address) {
            return Ok(id);
        }
        if let Some(row) = view.get(Table::AddressId, &Key::address(&address))? {
            let id = number_in_key(&row, 0)?;
            self.committed.insert(address, id);
            return Ok(id);
        }
        let id = *next;
        *next += 1;
        batch.put(Table::AddressId, &Key::address(&address), Key::id(id).as_slice());
        batch.put(Table::Address, &Key::id(id), AddressRow { address, first_seen: block }.to_row());
        self.new.insert(address, id);
        self.new_in_order.push((id, address));
        Ok(id)
    }

    /// The address of an id, including ids of the current batch.
    pub(crate) fn find(&self, view: &View, id: AddressId) -> Result<Address, StoreError> {
        let position = self.new_in_order.binary_search_by_key(&id, |(id, _)| *id).ok();
        match position.and_then(|position| self.new_in_order.get(position)) {
            Some((_, address)) => Ok(*address),
            None => stored_address(view, id),
        }
    }

    pub(crate) fn mark_committed(&mut self) {
        for (address, id) in self.new.drain() {
            self.committed.insert(address, id);
        }
        self.new_in_order.clear();
    }

    pub(crate) fn discard_changes(&mut self) {
        self.new.clear();
        self.new_in_order.clear();
    }

    /// Ids from `first` on are unassigned again.
    pub(crate) fn drop_from(&mut self, first: AddressId) {
        self.committed.retain(|_, id| *id < first);
    }
}

pub(super) fn stored_address(view: &View, id: AddressId) -> Result<Address, StoreError> {
    let row = view.get(Table::Address, &Key::id(id))?;
    Ok(AddressRow::from_row(&row.ok_or(StoreError::Corrupt("an address id without an address"))?)?.address)
}
