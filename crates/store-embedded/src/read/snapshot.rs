use std::{cell::RefCell, collections::HashMap, sync::Arc};

use domain::{Address, B256, BlockNumber, BlockRange, TokenMetadata};
use store::{ChainTotals, StoreError};

use super::{caches::ReadCaches, checkpoints::CheckpointCache, positions::TransactionPosition, settled::SettledFloor};
use crate::{
    cache::FastMap,
    engine::{Engine, Epoch, Row, View},
    keys::{AddressId, Key, PartyId, Table, TopicId, TxId, number_in_key},
    meta::{self, Tip},
    rows::{AddressRow, BlockRow, PoolRow},
    undo,
};

/// How many rows of a range may be passed over for one that is wanted: together they take about as long as a read by key.
const SPARSE: u64 = 4;

/// A snapshot of the index for one query.
pub(crate) struct ReadSnapshot {
    pub(super) view: View,
    pub(super) tip: Option<Tip>,
    /// None if a revert was being committed: then the shared caches are not used.
    pub(super) epoch: Option<Epoch>,
    pub(super) caches: Arc<ReadCaches>,
    /// Tokens read so far, since a page repeats them. Not shared, since token metadata may change with any block.
    pub(super) token_metadata: RefCell<HashMap<AddressId, TokenMetadata>>,
    /// Parties of internal transactions read so far.
    pub(super) parties: RefCell<HashMap<PartyId, Address>>,
    /// The transactions of events read so far: neighbours in a list are often of the same one.
    pub(super) event_transactions: RefCell<FastMap<TxId, TransactionPosition>>,
    /// Pools and topics read so far, which a page repeats, too.
    pub(super) pools: RefCell<FastMap<AddressId, PoolRow>>,
    pub(super) topics: RefCell<FastMap<TopicId, B256>>,
    /// No block below this one can be reverted.
    pub(super) settled_floor: SettledFloor,
}

impl ReadSnapshot {
    pub(crate) fn open(engine: &Engine, caches: Arc<ReadCaches>) -> Result<Self, StoreError> {
        // Read before the view is taken: what was irreversible then is irreversible in the view.
        let settled_floor = caches.checkpoints.settled_floor();
        let before = engine.state();
        let (view, epoch) = engine.view_of_epoch();
        let version = before.filter(|_| engine.state() == before);
        let tip = match version.and_then(|version| caches.tip_of(version)) {
            Some(tip) => tip,
            None => {
                let tip = meta::find_tip(&view)?;
                if let Some(version) = version {
                    caches.keep_tip(version, tip);
                }
                tip
            }
        };
        Ok(Self {
            view,
            tip,
            epoch,
            caches,
            token_metadata: RefCell::default(),
            parties: RefCell::default(),
            event_transactions: RefCell::default(),
            pools: RefCell::default(),
            topics: RefCell::default(),
            settled_floor,
        })
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    pub(crate) fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
    }

    pub(super) fn checkpoints(&self) -> &CheckpointCache {
        &self.caches.checkpoints
    }

    /// The totals before the first block that can still be reverted.
    pub(super) fn settled_totals(&self) -> Result<ChainTotals, StoreError> {
        let floor = undo::oldest_undo(&self.view, self.settled_floor.block)?;
        let floor = floor.unwrap_or_else(|| self.tip.map_or(0, |tip| tip.block.number + 1));
        self.caches.checkpoints.raise_settled_floor(SettledFloor { block: floor, ..self.settled_floor });
        self.totals_before(floor)
    }

    pub(super) fn address_id(&self, address: &Address) -> Result<Option<AddressId>, StoreError> {
        let row = self.view.get(Table::AddressId, &Key::address(address))?;
        row.map(|row| number_in_key(&row, 0)).transpose()
    }

    pub(super) fn find_address_row(&self, id: AddressId) -> Result<Option<AddressRow>, StoreError> {
        let key = self.epoch.map(|epoch| (epoch, id));
        if let Some(row) = key.and_then(|key| self.caches.addresses.get(&key)) {
            return Ok(Some(row));
        }
        let Some(row) = self.view.get(Table::Address, &Key::id(id))? else { return Ok(None) };
        let row = AddressRow::from_row(&row)?;
        if let Some(key) = key {
            self.caches.addresses.insert(key, row);
        }
        Ok(Some(row))
    }

    pub(super) fn address_row(&self, id: AddressId) -> Result<AddressRow, StoreError> {
        self.find_address_row(id)?.ok_or(StoreError::Corrupt("an address id without an address"))
    }

    pub(super) fn address(&self, id: AddressId) -> Result<Address, StoreError> {
        Ok(self.address_row(id)?.address)
    }

    pub(super) fn find_block_row(&self, number: BlockNumber) -> Result<Option<Arc<BlockRow>>, StoreError> {
        // Another query may have cached a block that is not in this snapshot yet.
        let indexed = self.tip.is_some_and(|tip| number <= tip.block.number);
        let key = self.epoch.filter(|_| indexed).map(|epoch| (epoch, number));
        if let Some(row) = key.and_then(|key| self.caches.blocks.get(&key)) {
            return Ok(Some(row));
        }
        let Some(row) = self.view.get(Table::Block, &Key::block(number))? else { return Ok(None) };
        let row = Arc::new(BlockRow::from_row(&row)?);
        if let Some(key) = key {
            self.caches.blocks.insert(key, Arc::clone(&row));
        }
        Ok(Some(row))
    }

    pub(super) fn block_row(&self, number: BlockNumber) -> Result<Arc<BlockRow>, StoreError> {
        self.find_block_row(number)?.ok_or(StoreError::Corrupt("a block is missing below the tip"))
    }

    /// The rows with these ids of a table without gaps, for ids that ascend or descend. Where they lie close, one range has them
    /// all.
    pub(super) fn rows(&self, table: Table, ids: &[u64]) -> Result<Vec<Row>, StoreError> {
        let missing = || StoreError::Corrupt("a row of a list is missing");
        let (Some(&first), Some(&last)) = (ids.first(), ids.last()) else { return Ok(Vec::new()) };
        let (low, high) = (first.min(last), first.max(last));
        let is_close = ids.len() > 1 && (high - low) / SPARSE < ids.len() as u64;
        if !is_close || !(ids.is_sorted_by(|one, next| one < next) || ids.is_sorted_by(|one, next| one > next)) {
            return ids.iter().map(|id| self.view.get(table, &Key::id(*id))?.ok_or_else(missing)).collect();
        }
        let (mut wanted, mut rows) = (ids.to_vec(), Vec::with_capacity(ids.len()));
        wanted.sort_unstable();
        let mut wanted = wanted.into_iter().peekable();
        for row in self.view.range(table, &Key::id(low), &Key::id(high + 1)) {
            let (key, row) = row?;
            if wanted.next_if_eq(&number_in_key(&key, 0)?).is_some() {
                rows.push(row);
            }
        }
        if rows.len() != ids.len() {
            return Err(missing());
        }
        if first > last {
            rows.reverse();
        }
        Ok(rows)
    }

    /// The indexed blocks of a range, as a half-open span of numbers.
    pub(super) fn block_span(&self, range: BlockRange) -> std::ops::Range<BlockNumber> {
        let Some(tip) = self.tip else { return 0..0 };
        let first = range.from.unwrap_or(0).max(tip.start_block);
        let end = range.to.map_or(u64::MAX, |to| to.saturating_add(1)).min(tip.block.number + 1);
        first..end.max(first)
    }

    /// The totals before a block; the current totals for a block after the tip.
    pub(super) fn totals_before(&self, number: BlockNumber) -> Result<ChainTotals, StoreError> {
        match self.tip {
            Some(tip) if number > tip.block.number => Ok(tip.totals),
            Some(tip) if number > tip.start_block => Ok(self.block_row(number)?.totals),
            _ => Ok(ChainTotals::default()),
        }
    }

    /// The ids assigned in a range of blocks, as a half-open span.
    pub(super) fn id_span(
        &self,
        range: BlockRange,
        id: impl Fn(&ChainTotals) -> u64,
    ) -> Result<std::ops::Range<u64>, StoreError> {
        let blocks = self.block_span(range);
        if blocks.is_empty() {
            return Ok(0..0);
        }
        Ok(id(&self.totals_before(blocks.start)?)..id(&self.totals_before(blocks.end)?))
    }
}
