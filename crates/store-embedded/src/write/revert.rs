use std::collections::BTreeSet;

use domain::{BlockNumber, BlockRef};
use store::StoreError;

use super::WriteState;
use crate::engine::{Batch, Engine, View};
use crate::keys::{Key, ListKind, Table};
use crate::meta::{self, Tip};
use crate::rows::{AddressRow, BlockRow, Totals, TransactionRow};
use crate::undo::UndoRecord;

impl WriteState {
    /// Takes back every block above `number` in one atomic step.
    pub(crate) fn revert_to(&mut self, engine: &Engine, number: BlockNumber) -> Result<(), StoreError> {
        let result = self.try_revert(engine, number);
        if result.is_err() {
            self.tails.forget_changes();
        }
        result
    }

    fn try_revert(&mut self, engine: &Engine, number: BlockNumber) -> Result<(), StoreError> {
        let view = engine.view();
        let Some(tip) = meta::find_tip(&view)? else { return Ok(()) };
        if number >= tip.block.number {
            return Ok(());
        }
        let Some(block) = find_block(&view, number)? else {
            return Err(StoreError::BeyondUndo { target: number, oldest: tip.start_block });
        };
        let kept = find_block(&view, number + 1)?.ok_or(MISSING_BLOCK)?.totals;
        let mut batch = engine.batch();

        let mut grown = BTreeSet::new();
        for above in number + 1..=tip.block.number {
            let key = Key::block(above);
            let row = view.get(Table::Undo, &key)?;
            let row = row.ok_or(StoreError::BeyondUndo { target: number, oldest: above })?;
            grown.extend(UndoRecord::from_row(&row)?.grown_lists);
            batch.delete(Table::Undo, &key);
        }
        for list in grown {
            let cut = match list.kind {
                ListKind::Transactions | ListKind::Involved => kept.transactions,
                ListKind::Mined => number + 1,
            };
            self.tails.truncate(&view, &mut batch, list, cut)?;
        }
        drop_blocks(&view, &mut batch, number + 1..tip.block.number + 1)?;
        drop_transactions(&view, &mut batch, &kept, &tip.totals)?;
        drop_addresses(&view, &mut batch, &kept, &tip.totals)?;

        let block = BlockRef { number, hash: block.hash };
        meta::put_tip(&mut batch, &Tip { block, start_block: tip.start_block, totals: kept });
        self.tails.write(&mut batch);
        batch.commit()?;
        self.tails.settle();
        self.addresses.forget_from(kept.addresses);
        Ok(())
    }
}

const MISSING_BLOCK: StoreError = StoreError::Corrupt("a block is missing below the tip");

fn find_block(view: &View, number: BlockNumber) -> Result<Option<BlockRow>, StoreError> {
    view.get(Table::Block, &Key::block(number))?.map(|row| BlockRow::from_row(&row)).transpose()
}

fn drop_blocks(view: &View, batch: &mut Batch, numbers: std::ops::Range<BlockNumber>) -> Result<(), StoreError> {
    for number in numbers {
        let block = find_block(view, number)?.ok_or(MISSING_BLOCK)?;
        batch.delete(Table::Block, &Key::block(number));
        batch.delete(Table::BlockByHash, &Key::block_by_hash(&block.hash, number));
    }
    Ok(())
}

fn drop_transactions(view: &View, batch: &mut Batch, kept: &Totals, all: &Totals) -> Result<(), StoreError> {
    let rows = view.range(Table::Transaction, &Key::id(kept.transactions), &Key::id(all.transactions));
    for (id, row) in (kept.transactions..).zip(rows) {
        let tx = TransactionRow::from_row(&row?.1)?;
        batch.delete(Table::Transaction, &Key::id(id));
        batch.delete(Table::TransactionByHash, &Key::transaction_by_hash(&tx.hash, id));
        if let Some(created) = tx.created {
            batch.delete(Table::Creation, &Key::id(created));
        }
    }
    Ok(())
}

fn drop_addresses(view: &View, batch: &mut Batch, kept: &Totals, all: &Totals) -> Result<(), StoreError> {
    let rows = view.range(Table::Address, &Key::id(kept.addresses), &Key::id(all.addresses));
    for (id, row) in (kept.addresses..).zip(rows) {
        let row = AddressRow::from_row(&row?.1)?;
        batch.delete(Table::Address, &Key::id(id));
        batch.delete(Table::AddressId, &Key::address(&row.address));
    }
    Ok(())
}
