//! Answering questions from one consistent state.

mod addresses;
mod blocks;
mod stats;
mod transactions;

use std::cell::RefCell;
use std::collections::HashMap;

use domain::{Address, BlockNumber, BlockRange};
use store::StoreError;

use crate::engine::View;
use crate::keys::{AddressId, Key, Table, TxId, number_in_key};
use crate::meta::{self, Tip};
use crate::rows::{AddressRow, BlockRow};

/// One question's look at the index. Remembers the addresses and blocks it has met, since a page repeats them.
pub(crate) struct Reading {
    view: View,
    tip: Option<Tip>,
    addresses: RefCell<HashMap<AddressId, Address>>,
    blocks: RefCell<HashMap<BlockNumber, BlockRow>>,
}

impl Reading {
    pub(crate) fn open(view: View) -> Result<Self, StoreError> {
        let tip = meta::find_tip(&view)?;
        Ok(Self { view, tip, addresses: RefCell::default(), blocks: RefCell::default() })
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
    }

    fn address_id(&self, address: &Address) -> Result<Option<AddressId>, StoreError> {
        let row = self.view.get(Table::AddressId, &Key::address(address))?;
        Ok(row.map(|row| number_in_key(&row, 0)))
    }

    fn address_row(&self, id: AddressId) -> Result<AddressRow, StoreError> {
        let row = self.view.get(Table::Address, &Key::id(id))?;
        AddressRow::from_row(&row.ok_or(StoreError::Corrupt("an address id without an address"))?)
    }

    fn address(&self, id: AddressId) -> Result<Address, StoreError> {
        if let Some(address) = self.addresses.borrow().get(&id) {
            return Ok(*address);
        }
        let address = self.address_row(id)?.address;
        self.addresses.borrow_mut().insert(id, address);
        Ok(address)
    }

    fn find_block_row(&self, number: BlockNumber) -> Result<Option<BlockRow>, StoreError> {
        if let Some(row) = self.blocks.borrow().get(&number) {
            return Ok(Some(row.clone()));
        }
        let Some(row) = self.view.get(Table::Block, &Key::block(number))? else { return Ok(None) };
        let row = BlockRow::from_row(&row)?;
        self.blocks.borrow_mut().insert(number, row.clone());
        Ok(Some(row))
    }

    fn block_row(&self, number: BlockNumber) -> Result<BlockRow, StoreError> {
        self.find_block_row(number)?.ok_or(StoreError::Corrupt("a block is missing below the tip"))
    }

    /// The indexed blocks of a range, as a half-open span of numbers.
    fn block_span(&self, range: BlockRange) -> std::ops::Range<BlockNumber> {
        let Some(tip) = self.tip else { return 0..0 };
        let first = range.from.unwrap_or(0).max(tip.start_block);
        let end = range.to.map_or(u64::MAX, |to| to.saturating_add(1)).min(tip.block.number + 1);
        first..end.max(first)
    }

    /// The transactions of a range of blocks, as a half-open span of ids.
    fn transaction_span(&self, range: BlockRange) -> Result<std::ops::Range<TxId>, StoreError> {
        let blocks = self.block_span(range);
        let Some(tip) = self.tip.filter(|_| !blocks.is_empty()) else { return Ok(0..0) };
        let first_id = |number: BlockNumber| -> Result<TxId, StoreError> {
            if number > tip.block.number {
                Ok(tip.totals.transactions)
            } else if number <= tip.start_block {
                Ok(0)
            } else {
                Ok(self.block_row(number)?.totals.transactions)
            }
        };
        Ok(first_id(blocks.start)?..first_id(blocks.end)?)
    }
}
