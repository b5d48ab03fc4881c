//! Metadata of the store: its schema, its chain, its first block and its tip.

use domain::{BlockNumber, BlockRef, ChainIdentity};
use store::{ChainTotals, StoreError, rules::LISTS_LAYOUT};

use crate::{
    codec::{RowReader, RowWriter},
    engine::{Batch, View},
    keys::{Key, Table},
    rows,
};

/// Of the index: higher after every change that other versions cannot read. An older index is filled again. Rows and lists have their
/// own numbers beside their definitions; here it is increased for all else, such as keys and chunks.
pub const SCHEMA: u32 = 3 + rows::LAYOUT + LISTS_LAYOUT;
/// Of the records: increased by every change that other versions cannot read, with a step in `upgrade.rs`.
pub const RECORDS: u32 = 1;

const SCHEMA_KEY: &str = "schema";
const RECORDS_KEY: &str = "records";
const CHAIN_KEY: &str = "chain";
const TIP_KEY: &str = "tip";
/// Without a value: set while the index is being emptied.
const EMPTYING_KEY: &str = "emptying";
/// Without a value: set for a chain for development.
const DEV_CHAIN_KEY: &str = "dev chain";

/// The chain that the data belongs to, and the first block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Binding {
    pub(crate) identity: ChainIdentity,
    pub(crate) start_block: BlockNumber,
}

/// The newest block, and the totals including it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) block: BlockRef,
    /// The first block of the index: not always 0.
    pub(crate) start_block: BlockNumber,
    pub(crate) totals: ChainTotals,
}

/// The versions of both parts of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) index: u32,
    pub(crate) records: u32,
}

/// None if nothing was written yet.
pub(crate) fn find_versions(view: &View) -> Result<Option<Versions>, StoreError> {
    let number = |name: &'static str| -> Result<Option<u32>, StoreError> {
        let row = view.get(Table::Meta, &Key::name(name))?;
        row.map(|row| RowReader::new(&row).varint()).transpose()
    };
    match (number(SCHEMA_KEY)?, number(RECORDS_KEY)?) {
        (None, None) => Ok(None),
        (Some(index), Some(records)) => Ok(Some(Versions { index, records })),
        _ => Err(StoreError::Corrupt("one of the two versions is missing")),
    }
}

pub(crate) fn put_versions(batch: &mut Batch, versions: Versions) {
    for (name, number) in [(SCHEMA_KEY, versions.index), (RECORDS_KEY, versions.records)] {
        let mut row = RowWriter::default();
        row.varint(number);
        batch.put(Table::Meta, &Key::name(name), row.finish());
    }
}

pub(crate) fn find_binding(view: &View) -> Result<Option<Binding>, StoreError> {
    let Some(row) = view.get(Table::Meta, &Key::name(CHAIN_KEY))? else { return Ok(None) };
    let mut row = RowReader::new(&row);
    let identity = ChainIdentity { chain_id: row.varint()?, genesis_hash: row.hash()? };
    Ok(Some(Binding { identity, start_block: row.varint()? }))
}

pub(crate) fn put_binding(batch: &mut Batch, binding: &Binding) {
    let mut row = RowWriter::default();
    row.varint(binding.identity.chain_id);
    row.bytes(binding.identity.genesis_hash.as_slice());
    row.varint(binding.start_block);
    batch.put(Table::Meta, &Key::name(CHAIN_KEY), row.finish());
}

pub(crate) fn find_tip(view: &View) -> Result<Option<Tip>, StoreError> {
    let Some(row) = view.get(Table::Meta, &Key::name(TIP_KEY))? else { return Ok(None) };
    let mut row = RowReader::new(&row);
    let block = BlockRef { number: row.varint()?, hash: row.hash()? };
    Ok(Some(Tip { block, start_block: row.varint()?, totals: row.totals()? }))
}

pub(crate) fn put_tip(batch: &mut Batch, tip: &Tip) {
    let mut row = RowWriter::default();
    row.varint(tip.block.number);
    row.bytes(tip.block.hash.as_slice());
    row.varint(tip.start_block);
    row.totals(&tip.totals);
    batch.put(Table::Meta, &Key::name(TIP_KEY), row.finish());
}

pub(crate) fn delete_tip(batch: &mut Batch) {
    batch.delete(Table::Meta, &Key::name(TIP_KEY));
}

pub(crate) fn is_emptying(view: &View) -> Result<bool, StoreError> {
    is_set(view, EMPTYING_KEY)
}

pub(crate) fn set_emptying(batch: &mut Batch, is_emptying: bool) {
    set(batch, EMPTYING_KEY, is_emptying);
}

pub(crate) fn is_dev_chain(view: &View) -> Result<bool, StoreError> {
    is_set(view, DEV_CHAIN_KEY)
}

pub(crate) fn set_dev_chain(batch: &mut Batch, is_dev_chain: bool) {
    set(batch, DEV_CHAIN_KEY, is_dev_chain);
}

fn is_set(view: &View, name: &'static str) -> Result<bool, StoreError> {
    Ok(view.get(Table::Meta, &Key::name(name))?.is_some())
}

fn set(batch: &mut Batch, name: &'static str, is_set: bool) {
    match is_set {
        true => batch.put(Table::Meta, &Key::name(name), []),
        false => batch.delete(Table::Meta, &Key::name(name)),
    }
}
