use std::collections::BTreeSet;

use domain::{Address, BlockNumber, InternalBlock, InternalEvent, InternalFrontier};
use store::{
    InternalProgress, Party, StoreError,
    rules::{IndexedBlock, InternalIds, InternalSide, InternalSink, InternalWalk},
};

use super::{blocks::find_block, numbered_rows::numbered_rows, state::WriteState};
use crate::{
    cache::FastMap,
    engine::{Batch, Engine, View},
    internal::{
        FIRST_ABOVE, find_progress, first_id, mirrored, next_party, put_first_id, put_next_party, put_progress,
    },
    keys::{InternalId, Key, ListKey, ListKind, PartyId, Table, number_in_key},
    lists::{Entry, Tails},
    meta::{self, Tip},
    rows::InternalRow,
    undo,
};

/// Open lists that are cached during one write.
const OPEN_LISTS: usize = 64;

impl WriteState {
    pub(crate) fn internal_frontier(engine: &Engine) -> Result<Option<InternalFrontier>, StoreError> {
        Ok(progress(&engine.view())?.map(|(_, progress)| progress.frontier()))
    }

    /// Returns how many blocks were stored.
    pub(crate) fn save_internal(engine: &Engine, blocks: &[InternalBlock]) -> Result<usize, StoreError> {
        let view = engine.view();
        let Some((tip, progress)) = progress(&view)? else { return Ok(0) };
        let sink = Step {
            view: &view,
            batch: engine.batch(),
            tails: Tails::new(OPEN_LISTS),
            parties: FastMap::default(),
            next_party: next_party(&view)?,
        };
        let mut walk = InternalWalk::new(sink, progress, tip.start_block);
        let mut saved = 0;
        for block in blocks {
            if !walk.add_block(block)? {
                break;
            }
            saved += 1;
        }
        let (Step { mut batch, tails, .. }, progress) = walk.finish();
        if saved > 0 {
            put_progress(&mut batch, &progress);
            tails.write(&mut batch);
            batch.commit()?;
        }
        Ok(saved)
    }

    pub(crate) fn skip_internal(engine: &Engine, last: BlockNumber) -> Result<(), StoreError> {
        let view = engine.view();
        let Some((tip, mut progress)) = progress(&view)? else { return Ok(()) };
        let last = last.min(tip.block.number);
        if last < progress.above {
            return Ok(());
        }
        let mut batch = engine.batch();
        for block in progress.above..=last {
            put_first_id(&mut batch, block, FIRST_ABOVE + progress.above_count);
        }
        progress.skip(last);
        put_progress(&mut batch, &progress);
        batch.commit()
    }
}

/// None for an empty index.
fn progress(view: &View) -> Result<Option<(Tip, InternalProgress)>, StoreError> {
    let Some(tip) = meta::find_tip(view)? else { return Ok(None) };
    let progress = match find_progress(view)? {
        Some(progress) => progress,
        None => InternalProgress::start(undo::oldest_revertible(view, &tip)?),
    };
    Ok(Some((tip, progress)))
}

struct Step<'a> {
    view: &'a View,
    batch: Batch,
    tails: Tails,
    parties: FastMap<Address, PartyId>,
    next_party: PartyId,
}

impl InternalSink for Step<'_> {
    fn find_block(&mut self, number: BlockNumber) -> Result<Option<IndexedBlock>, StoreError> {
        let row = find_block(self.view, number)?;
        Ok(row.map(|row| IndexedBlock { hash: row.hash, first_tx: row.totals.transactions, tx_count: row.tx_count }))
    }

    fn party_id(&mut self, address: Address) -> Result<PartyId, StoreError> {
        if let Some(id) = self.parties.get(&address) {
            return Ok(*id);
        }
        let id = match self.view.get(Table::InternalPartyId, &Key::address(&address))? {
            Some(row) => number_in_key(&row, 0)?,
            None => {
                let id = self.next_party;
                self.next_party += 1;
                self.batch.put(Table::InternalPartyId, &Key::address(&address), Key::id(id).as_slice());
                self.batch.put(Table::InternalParty, &Key::id(id), address.as_slice());
                put_next_party(&mut self.batch, id + 1);
                id
            }
        };
        self.parties.insert(address, id);
        Ok(id)
    }

    fn put_start(&mut self, block: BlockNumber, side: InternalSide, count: u64) {
        let id = match side {
            InternalSide::Above => FIRST_ABOVE + count,
            InternalSide::Below => FIRST_ABOVE - count,
        };
        put_first_id(&mut self.batch, block, id);
    }

    fn put_event(&mut self, side: InternalSide, entry: u64, event: &InternalEvent, ids: InternalIds) {
        let id = match side {
            InternalSide::Above => FIRST_ABOVE + entry,
            InternalSide::Below => mirrored(entry),
        };
        let InternalIds { tx, from, to } = ids;
        self.batch.put(Table::Internal, &Key::id(id), InternalRow::new(event, tx, from, to).to_row());
    }

    fn append(&mut self, list: ListKey, entry: u64, party: Party) -> Result<(), StoreError> {
        self.tails.append(self.view, &mut self.batch, list, Entry::new(entry, party)).map(drop)
    }
}

/// Removes the internal transactions of all blocks above `number`. Their parties keep their ids.
pub(super) fn revert(view: &View, batch: &mut Batch, number: BlockNumber) -> Result<(), StoreError> {
    let Some(progress) = find_progress(view)? else { return Ok(()) };
    if number + 1 < progress.anchor {
        return Err(StoreError::BeyondUndo { target: number, oldest: progress.anchor - 1 });
    }
    let (cut, end): (InternalId, InternalId) =
        (first_id(view, &progress, number + 1)?, FIRST_ABOVE + progress.above_count);
    let mut parties = BTreeSet::new();
    for row in numbered_rows(view, Table::Internal, cut..end) {
        let (id, row) = row?;
        let row = InternalRow::from_row(&row)?;
        parties.extend([Some(row.from), row.to].into_iter().flatten());
        batch.delete(Table::Internal, &Key::id(id));
    }
    let mut tails = Tails::new(OPEN_LISTS);
    for party in parties {
        tails.truncate(view, batch, ListKind::InternalAbove.of(party), cut - FIRST_ABOVE)?;
    }
    tails.write(batch);
    for block in number + 1..progress.above {
        batch.delete(Table::InternalBlock, &Key::block(block));
    }
    put_progress(batch, &progress.reverted(number, cut - FIRST_ABOVE));
    Ok(())
}
