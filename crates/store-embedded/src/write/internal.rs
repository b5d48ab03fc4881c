use std::collections::BTreeSet;

use domain::{Address, BlockNumber, InternalBlock, InternalEvent, InternalFrontier};
use store::{InternalProgress, StoreError, rules::lists_of_parties};

use super::state::WriteState;
use crate::{
    cache::FastMap,
    engine::{Batch, Engine, View},
    internal::{
        FIRST_ABOVE, find_progress, first_id, mirrored, next_party, put_first_id, put_next_party, put_progress,
    },
    keys::{InternalId, Key, ListKind, PartyId, Table, TxId, number_in_key},
    lists::{Entry, Tails},
    meta::{self, Tip},
    rows::{BlockRow, InternalRow},
    undo,
};

/// Open lists that are cached during one write.
const OPEN_LISTS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

impl WriteState {
    pub(crate) fn internal_frontier(engine: &Engine) -> Result<Option<InternalFrontier>, StoreError> {
        Ok(progress(&engine.view())?.map(|(_, progress)| progress.frontier()))
    }

    /// Returns how many blocks were stored.
    pub(crate) fn save_internal(engine: &Engine, blocks: &[InternalBlock]) -> Result<usize, StoreError> {
        let view = engine.view();
        let Some((tip, progress)) = progress(&view)? else { return Ok(0) };
        let mut step = Step {
            view: &view,
            batch: engine.batch(),
            tails: Tails::new(OPEN_LISTS),
            parties: FastMap::default(),
            next_party: next_party(&view)?,
            progress,
        };
        let mut saved = 0;
        for block in blocks {
            if !step.add_block(&tip, block)? {
                break;
            }
            saved += 1;
        }
        let Step { mut batch, tails, progress, .. } = step;
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
    progress: InternalProgress,
}

impl Step<'_> {
    /// False if the block is not next, or not indexed.
    fn add_block(&mut self, tip: &Tip, block: &InternalBlock) -> Result<bool, StoreError> {
        let number = block.block.number;
        let side = if number == self.progress.above {
            Side::Above
        } else if Some(number) == self.progress.below {
            Side::Below
        } else {
            return Ok(false);
        };
        let Some(row) = self.view.get(Table::Block, &Key::block(number))? else { return Ok(false) };
        let row = BlockRow::from_row(&row)?;
        if row.hash != block.block.hash {
            return Ok(false);
        }
        let (first_tx, count) = (row.totals.transactions, row.tx_count);
        let add = |step: &mut Self, event: &InternalEvent| {
            if event.tx_index >= count {
                return Err(StoreError::Corrupt("an internal transaction outside its block"));
            }
            step.add_event(side, event, first_tx + u64::from(event.tx_index))
        };
        match side {
            Side::Above => {
                put_first_id(&mut self.batch, number, FIRST_ABOVE + self.progress.above_count);
                block.events.iter().try_for_each(|event| add(self, event))?;
                self.progress.above += 1;
            }
            // From the last one on, so that ids follow the chain.
            Side::Below => {
                block.events.iter().rev().try_for_each(|event| add(self, event))?;
                put_first_id(&mut self.batch, number, FIRST_ABOVE - self.progress.below_count);
                self.progress.step_down(tip.start_block);
            }
        }
        Ok(true)
    }

    fn add_event(&mut self, side: Side, event: &InternalEvent, tx: TxId) -> Result<(), StoreError> {
        let from = self.party(event.from)?;
        let to = event.to.map(|to| self.party(to)).transpose()?;
        let (kind, entry, id) = match side {
            Side::Above => {
                let id = FIRST_ABOVE + self.progress.above_count;
                self.progress.above_count += 1;
                (ListKind::InternalAbove, id - FIRST_ABOVE, id)
            }
            Side::Below => {
                let entry = self.progress.below_count;
                self.progress.below_count += 1;
                (ListKind::InternalBelow, entry, mirrored(entry))
            }
        };
        self.batch.put(Table::Internal, &Key::id(id), InternalRow::new(event, tx, from, to).to_row());
        for (list, party) in lists_of_parties(kind, from, to) {
            self.tails.append(self.view, &mut self.batch, list, Entry::new(entry, party))?;
        }
        Ok(())
    }

    fn party(&mut self, address: Address) -> Result<PartyId, StoreError> {
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
    for (id, row) in (cut..end).zip(view.range(Table::Internal, &Key::id(cut), &Key::id(end))) {
        let row = InternalRow::from_row(&row?.1)?;
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
