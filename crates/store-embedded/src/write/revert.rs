use std::{collections::BTreeSet, sync::Arc};

use domain::{Address, Balance, BalanceSource, BlockNumber, BlockRef};
use store::{
    ChainTotals, StoreError,
    fetch_policy::{CodeEvent, is_code_pending},
};

use super::{
    addresses::stored_address,
    approvals::rerank_approvals,
    blocks::{MISSING_BLOCK, find_block},
    codes,
    holders::{change_call_balance, mark_drifting_balances},
    internal, logs, metadata,
    nfts::rerank_nfts,
    numbered_rows::numbered_rows,
    overwrite::Overwrites,
    ranks::{rerank_holder, rerank_tokens},
    state::WriteState,
    sweeps::{mark_balance_pending, sweep_where_source_changed},
};
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, ListKey, Pair, Table, number_in_key},
    meta::{self, Tip},
    ranked::RankMoves,
    rows::{AddressRow, TransactionRow, TransferRow},
    token_status::find_token_status,
    undo::{Overwritten, UndoRecord},
    verified_contracts::{code_hash_at, relist},
};

impl WriteState {
    /// Reverts every block above `number` atomically.
    pub(crate) fn revert_to(&mut self, engine: &Engine, number: BlockNumber) -> Result<(), StoreError> {
        let result = self.try_revert(engine, number);
        if result.is_err() {
            self.tails.discard_changes();
        }
        result
    }

    fn try_revert(&mut self, engine: &Engine, number: BlockNumber) -> Result<(), StoreError> {
        let listing = Arc::clone(&self.listing);
        let _guard = listing.lock();
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
        let mut overwrites = Overwrites::without_undo(&view);
        for above in (number + 1..=tip.block.number).rev() {
            let key = Key::block(above);
            let row = view.get(Table::Undo, &key)?;
            let row = row.ok_or(StoreError::BeyondUndo { target: number, oldest: above })?;
            let record = UndoRecord::from_row(&row)?;
            grown.extend(record.grown_lists);
            // From the newest block down: the row before the oldest block remains.
            for Overwritten { table, key, row } in record.overwritten {
                overwrites.put(table, &key, row)?;
            }
            batch.delete(Table::Undo, &key);
        }
        let mut moved = moved_since(&view, &overwrites, &kept, &tip.totals)?;
        let touched: BTreeSet<AddressId> = moved.iter().map(|pair| pair.token).collect();
        complete_moved(&view, &mut overwrites, &mut moved)?;
        let mut moves = RankMoves::default();
        for pair in &moved {
            let key = Key::balance(*pair);
            let token_stays = overwrites.get(Table::Token, &Key::id(pair.token))?.is_some();
            let was_touched_before = overwrites.get(Table::Balance, &key)?.is_some()
                || overwrites.get(Table::TouchedHolder, &key)?.is_some();
            if token_stays && was_touched_before {
                batch.put(Table::Unranked, &key, []);
                mark_balance_pending(&mut batch, &key, number);
            } else {
                // The holder has no relation to the token any more: its derived data is deleted.
                rerank_holder(&view, &mut batch, &mut moves, *pair, Balance::ZERO)?;
                change_call_balance(&mut overwrites, *pair, None)?;
                batch.delete(Table::Unranked, &key);
                batch.delete(Table::PendingBalance, &key);
            }
        }
        moves.write(&view, &mut batch)?;
        mark_tokens_pending(&view, &mut overwrites, &mut batch, &touched, number)?;
        for token in &touched {
            let status = find_token_status(&mut overwrites, *token)?;
            if status.is_some_and(|status| status.balance_source == BalanceSource::Calls) {
                mark_drifting_balances(&mut overwrites, &view, &mut batch, *token, number)?;
            }
        }
        sweep_where_source_changed(&overwrites, &mut batch)?;
        rerank_tokens(touched.iter().copied(), &mut overwrites, &view, &mut batch, |id| stored_address(&view, id))?;
        rerank_nfts(&overwrites, &view, &mut batch)?;
        rerank_approvals(&overwrites, &view, &mut batch)?;
        overwrites.write(&mut batch);
        mark_codes_pending(&view, &mut batch, &grown, &kept, number)?;
        for list in grown {
            // Internal transactions are reverted by their rows.
            let Some(cut) = list.kind.first_entry(&kept, number + 1) else { continue };
            self.tails.truncate(&view, &mut batch, list, cut)?;
        }
        internal::revert(&view, &mut batch, number)?;
        drop_blocks(&view, &mut batch, number + 1..tip.block.number + 1)?;
        drop_transactions(&view, &mut batch, &kept, &tip.totals)?;
        drop_rows(&mut batch, Table::Transfer, kept.transfers..tip.totals.transfers);
        drop_rows(&mut batch, Table::Trade, kept.trades..tip.totals.trades);
        logs::revert(&view, &mut batch, &kept, &tip.totals)?;
        drop_rows(&mut batch, Table::Credit, kept.credits..tip.totals.credits);
        drop_rows(&mut batch, Table::Nft, kept.nfts..tip.totals.nfts);
        drop_addresses(&view, &mut batch, &kept, &tip.totals)?;

        let block = BlockRef { number, hash: block.hash };
        meta::put_tip(&mut batch, &Tip { block, start_block: tip.start_block, totals: kept });
        self.tails.write(&mut batch);
        batch.commit()?;
        self.tails.mark_committed();
        self.addresses.drop_from(kept.addresses);
        self.topics.drop_from(kept.log_topics);
        self.log_sources.drop_from(kept.log_sources);
        self.known_codes.clear();
        self.last_refreshed = None;
        self.day = None;
        Ok(())
    }
}

/// Holders whose balance the reverted blocks may have changed.
fn moved_since(
    view: &View,
    overwrites: &Overwrites<'_>,
    kept: &ChainTotals,
    all: &ChainTotals,
) -> Result<BTreeSet<Pair>, StoreError> {
    let touched = overwrites.changes(Table::TouchedHolder).map(|(key, _)| Pair::from_key(key.as_slice()));
    let mut moved = touched.collect::<Result<BTreeSet<Pair>, _>>()?;
    for row in numbered_rows(view, Table::Transfer, kept.transfers..all.transfers) {
        let row = TransferRow::from_row(&row?.1)?;
        moved.extend([row.from, row.to].map(|holder| Pair { token: row.token, holder }));
    }
    Ok(moved)
}

fn complete_moved(view: &View, overwrites: &mut Overwrites<'_>, moved: &mut BTreeSet<Pair>) -> Result<(), StoreError> {
    // Other events may have touched holders before the contract was known as a token, and it may no longer be one.
    for token in moved.iter().map(|pair| pair.token).collect::<BTreeSet<_>>() {
        let key = Key::id(token);
        if overwrites.get(Table::Token, &key)?.is_none() {
            for row in view.prefix(Table::TouchedHolder, &key) {
                moved.insert(Pair::from_key(&row?.0)?);
            }
        }
    }
    // The zero address is not a holder.
    let zero_address = view.get(Table::AddressId, &Key::address(&Address::ZERO))?;
    let zero_address = zero_address.map(|row| number_in_key(&row, 0)).transpose()?;
    moved.retain(|pair| Some(pair.holder) != zero_address);
    Ok(())
}

/// Metadata of a touched token may have changed; for an address that is no longer a token, everything is deleted.
fn mark_tokens_pending(
    view: &View,
    overwrites: &mut Overwrites<'_>,
    batch: &mut Batch,
    touched: &BTreeSet<AddressId>,
    tip: BlockNumber,
) -> Result<(), StoreError> {
    for token in touched {
        let key = Key::id(*token);
        if overwrites.get(Table::Token, &key)?.is_some() {
            metadata::mark_token_pending(batch, *token, tip);
            continue;
        }
        metadata::remove_names(view, batch, *token)?;
        for table in [Table::NewToken, Table::PendingToken, Table::TokenMetadata, Table::Unaudited, Table::Sweep] {
            batch.delete(table, &key);
        }
        overwrites.put(Table::Audit, &key, None)?;
        overwrites.put(Table::CallHolders, &key, None)?;
    }
    Ok(())
}

/// Where a reverted block ran or called code, the code may be another now.
fn mark_codes_pending(
    view: &View,
    batch: &mut Batch,
    grown: &BTreeSet<ListKey>,
    kept: &ChainTotals,
    tip: BlockNumber,
) -> Result<(), StoreError> {
    let ran = grown.iter().filter(|list| list.kind.runs_owner());
    for list in ran.filter(|list| list.owner < kept.addresses) {
        if is_code_pending(CodeEvent::Reverted, codes::known_code(view, list.owner)?) {
            codes::mark_code_pending(batch, list.owner, tip);
        }
    }
    Ok(())
}

fn drop_rows(batch: &mut Batch, table: Table, ids: std::ops::Range<u64>) {
    for id in ids {
        batch.delete(table, &Key::id(id));
    }
}

fn drop_blocks(view: &View, batch: &mut Batch, numbers: std::ops::Range<BlockNumber>) -> Result<(), StoreError> {
    for number in numbers {
        let block = find_block(view, number)?.ok_or(MISSING_BLOCK)?;
        batch.delete(Table::Block, &Key::block(number));
        batch.delete(Table::BlockByHash, &Key::block_by_hash(&block.hash, number));
    }
    Ok(())
}

fn drop_transactions(view: &View, batch: &mut Batch, kept: &ChainTotals, all: &ChainTotals) -> Result<(), StoreError> {
    for row in numbered_rows(view, Table::Transaction, kept.transactions..all.transactions) {
        let (id, row) = row?;
        let tx = TransactionRow::from_row(&row)?;
        batch.delete(Table::Transaction, &Key::id(id));
        batch.delete(Table::TransactionByHash, &Key::transaction_by_hash(&tx.hash, id));
    }
    Ok(())
}

fn drop_addresses(view: &View, batch: &mut Batch, kept: &ChainTotals, all: &ChainTotals) -> Result<(), StoreError> {
    let mut listed = RankMoves::default();
    for row in numbered_rows(view, Table::Address, kept.addresses..all.addresses) {
        let (id, row) = row?;
        let row = AddressRow::from_row(&row)?;
        relist(view, batch, &mut listed, row.address, code_hash_at(view, id)?, None)?;
        batch.delete(Table::Address, &Key::id(id));
        batch.delete(Table::AddressId, &Key::address(&row.address));
        batch.delete(Table::CodeHash, &Key::id(id));
        batch.delete(Table::PendingCode, &Key::id(id));
    }
    listed.write(view, batch)
}

#[cfg(test)]
mod tests {
    use domain::BlockChanges;
    use store::{ChainWriter, Undo};
    use store_conformance::RandomChain;

    use super::*;
    use crate::{EmbeddedStore, StoreOptions, writer::EmbeddedWriter};

    /// A store with blocks that can be reverted.
    async fn written(folder: &std::path::Path) -> (EmbeddedStore, EmbeddedWriter) {
        let store = EmbeddedStore::open(folder, StoreOptions::default()).unwrap();
        let (mut chain, mut writer, mut parent) = (RandomChain::new(3), store.writer(), None);
        for _ in 0..60 {
            let next: BlockChanges = chain.next_block(parent.as_ref());
            parent = Some(next.block.clone());
            writer.commit(vec![next], Undo::Keep { down_to: 0 }).await.unwrap();
        }
        (store, writer)
    }

    #[tokio::test]
    async fn a_missing_row_does_not_give_its_number_to_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let (store, mut writer) = written(folder.path()).await;
        let (reader, tip) = (store.reader(), writer.tip().await.unwrap().unwrap());
        let engine = reader.engine();
        let kept = find_block(&engine.view(), 11).unwrap().unwrap().totals;
        for (table, first) in [
            (Table::Transaction, kept.transactions),
            (Table::Transfer, kept.transfers),
            (Table::Address, kept.addresses),
            (Table::LogTopic, kept.log_topics),
            (Table::LogSource, kept.log_sources),
        ] {
            let key = Key::id(first + 1);
            let row = engine.view().get(table, &key).unwrap().unwrap();
            let mut batch = engine.batch();
            batch.delete(table, &key);
            batch.commit().unwrap();
            let reverted = writer.revert_to(10).await;
            assert!(matches!(reverted, Err(StoreError::Corrupt(_))), "{table:?}: {reverted:?}");
            assert_eq!(writer.tip().await.unwrap(), Some(tip));
            let mut batch = engine.batch();
            batch.put(table, &key, row);
            batch.commit().unwrap();
        }
        writer.revert_to(10).await.unwrap();
        assert_eq!(writer.tip().await.unwrap().map(|tip| tip.number), Some(10));
    }
}
