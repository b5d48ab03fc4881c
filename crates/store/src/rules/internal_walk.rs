//! The walk over traced blocks, upwards or downwards from those that were traced before.

use domain::{Address, B256, BlockNumber, InternalBlock, InternalEvent};

use super::{ListKey, ListKind, lists_of_parties};
use crate::{InternalProgress, Party, StoreError};

/// Where an internal transaction is: on the upper side, or on the lower one, which is numbered downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InternalSide {
    Above,
    Below,
}

/// A block of the index.
#[derive(Debug, Clone, Copy)]
pub struct IndexedBlock {
    pub hash: B256,
    pub first_tx: u64,
    pub tx_count: u32,
}

/// An internal transaction, with its parties as ids.
#[derive(Debug, Clone, Copy)]
pub struct InternalIds {
    pub tx: u64,
    pub from: u64,
    pub to: Option<u64>,
}

/// Takes what [`InternalWalk`] finds.
pub trait InternalSink {
    fn find_block(&mut self, number: BlockNumber) -> Result<Option<IndexedBlock>, StoreError>;

    /// The id of an address, which is not that of other lists.
    fn party_id(&mut self, address: Address) -> Result<u64, StoreError>;

    /// A block begins at this number of entries of its side. Called before its own on the upper side, after them on the lower one.
    fn put_start(&mut self, block: BlockNumber, side: InternalSide, count: u64);

    fn put_event(&mut self, side: InternalSide, entry: u64, event: &InternalEvent, ids: InternalIds);

    fn append(&mut self, list: ListKey, entry: u64, party: Party) -> Result<(), StoreError>;
}

/// A walk over traced blocks.
#[derive(Debug)]
pub struct InternalWalk<S> {
    sink: S,
    progress: InternalProgress,
    /// Of the index.
    first_block: BlockNumber,
}

impl<S: InternalSink> InternalWalk<S> {
    pub fn new(sink: S, progress: InternalProgress, first_block: BlockNumber) -> Self {
        Self { sink, progress, first_block }
    }

    pub fn finish(self) -> (S, InternalProgress) {
        (self.sink, self.progress)
    }

    /// False if the block is not next, or not indexed.
    pub fn add_block(&mut self, block: &InternalBlock) -> Result<bool, StoreError> {
        let number = block.block.number;
        let side = if number == self.progress.above {
            InternalSide::Above
        } else if Some(number) == self.progress.below {
            InternalSide::Below
        } else {
            return Ok(false);
        };
        let indexed = self.sink.find_block(number)?;
        let Some(indexed) = indexed.filter(|indexed| indexed.hash == block.block.hash) else { return Ok(false) };
        match side {
            InternalSide::Above => {
                self.sink.put_start(number, side, self.progress.above_count);
                block.events.iter().try_for_each(|event| self.add_event(side, event, &indexed))?;
                self.progress.above += 1;
            }
            // From the last one on, so that ids follow the chain.
            InternalSide::Below => {
                block.events.iter().rev().try_for_each(|event| self.add_event(side, event, &indexed))?;
                self.sink.put_start(number, side, self.progress.below_count);
                self.progress.step_down(self.first_block);
            }
        }
        Ok(true)
    }

    fn add_event(
        &mut self,
        side: InternalSide,
        event: &InternalEvent,
        indexed: &IndexedBlock,
    ) -> Result<(), StoreError> {
        if event.tx_index >= indexed.tx_count {
            return Err(StoreError::Corrupt("an internal transaction outside its block"));
        }
        let tx = indexed.first_tx + u64::from(event.tx_index);
        let from = self.sink.party_id(event.from)?;
        let to = event.to.map(|to| self.sink.party_id(to)).transpose()?;
        let (kind, count) = match side {
            InternalSide::Above => (ListKind::InternalAbove, &mut self.progress.above_count),
            InternalSide::Below => (ListKind::InternalBelow, &mut self.progress.below_count),
        };
        let entry = *count;
        *count += 1;
        self.sink.put_event(side, entry, event, InternalIds { tx, from, to });
        for (list, party) in lists_of_parties(kind, from, to) {
            self.sink.append(list, entry, party)?;
        }
        Ok(())
    }
}
