use domain::{BalanceSource, BlockChanges, BlockNumber};
use store::{ChainTotals, StoreError, Undo, check_order, rules::Walk};

use super::{
    approvals::rerank_approvals,
    holders, metadata,
    nfts::rerank_nfts,
    ranks::rerank_tokens,
    state::WriteState,
    step::Step,
    sweeps::{self, sweep_where_source_changed},
};
use crate::{
    cache::sorted,
    engine::{Batch, Engine, View},
    keys::{Key, ListKind, Pair, Table, fits_into_key},
    meta::{self, Tip},
    token_status::find_token_status,
    undo,
};

impl WriteState {
    /// Appends blocks atomically.
    pub(crate) fn commit(&mut self, engine: &Engine, blocks: &[BlockChanges], undo: Undo) -> Result<(), StoreError> {
        let result = self.try_commit(engine, blocks, undo);
        if result.is_err() {
            self.discard_changes();
        }
        result
    }

    fn try_commit(&mut self, engine: &Engine, blocks: &[BlockChanges], undo: Undo) -> Result<(), StoreError> {
        let view = engine.view();
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
        let tip = meta::find_tip(&view)?;
        let start = meta::find_binding(&view)?.map(|binding| binding.start_block);
        check_order(tip.as_ref().map(|tip| tip.block), start, blocks)?;

        let day = self.take_day(&view, tip.as_ref())?;
        let totals = tip.map(|tip| tip.totals).unwrap_or_default();
        let mut walk = Walk::new(Step::new(self, engine, &view, undo), totals, day);
        for block in blocks {
            walk.add_block(block)?;
        }
        let (step, totals, day) = walk.finish();
        check_ids(&totals)?;
        let Step { mut batch, mut overwrites, moved_tokens, moved_pairs, .. } = step;
        let (moved_tokens, moved_pairs) = (sorted(moved_tokens), sorted(moved_pairs));
        for pairs in moved_pairs.chunk_by(|one, other| one.token == other.token) {
            let keys = || pairs.iter().map(|pair| Key::balance(*pair));
            keys().for_each(|key| batch.put(Table::Unranked, &key, []));
            let Some(Pair { token, .. }) = pairs.first().copied() else { continue };
            let status = find_token_status(&mut overwrites, token)?;
            if status.is_some_and(|status| status.balance_source == BalanceSource::Calls) {
                keys().for_each(|key| sweeps::mark_balance_pending(&mut batch, &key, last.block.number));
                holders::mark_drifting_balances(&mut overwrites, &view, &mut batch, token, last.block.number)?;
            }
        }
        for token in &moved_tokens {
            metadata::refresh_if_old(&view, &mut batch, *token, last.block.number)?;
            let transfers = self.tails.total(&view, ListKind::TokenTransfers.of(*token))?;
            holders::schedule_audit(&mut overwrites, &mut batch, *token, transfers, last.block.number)?;
        }
        sweep_where_source_changed(&overwrites, &mut batch)?;
        let addresses = &self.addresses;
        rerank_tokens(moved_tokens.iter().copied(), &mut overwrites, &view, &mut batch, |id| {
            addresses.find(&view, id)
        })?;
        rerank_nfts(&overwrites, &view, &mut batch)?;
        rerank_approvals(&overwrites, &view, &mut batch)?;
        overwrites.write(&mut batch);
        let start_block = tip.map_or(first.block.number, |tip| tip.start_block);
        meta::put_tip(&mut batch, &Tip { block: last.block.id(), start_block, totals });
        prune_undo(&view, &mut batch, undo, last.block.number)?;
        self.tails.write(&mut batch);
        batch.commit()?;
        self.mark_committed();
        self.day = day;
        Ok(())
    }
}

/// The totals are the next ids. One that does not fit into a key would replace the rows of another one.
fn check_ids(totals: &ChainTotals) -> Result<(), StoreError> {
    let ChainTotals {
        transactions,
        addresses,
        transfers,
        trades,
        logs,
        log_topics,
        log_sources,
        nfts,
        approvals,
        credits,
        // Not ids.
        tokens: _,
        filled_blocks: _,
        untraced_blocks: _,
        gas_prices: _,
        unpriced_transactions: _,
        gas_used: _,
        fees: _,
        burnt_fees: _,
        contracts: _,
        active_addresses: _,
    } = *totals;
    let next = [transactions, addresses, transfers, trades, logs, log_topics, log_sources, nfts, approvals, credits];
    if next.into_iter().all(fits_into_key) {
        Ok(())
    } else {
        Err(StoreError::Corrupt("an id that does not fit into a key"))
    }
}

/// Deletes the undo records that no revert needs.
fn prune_undo(view: &View, batch: &mut Batch, undo: Undo, tip: BlockNumber) -> Result<(), StoreError> {
    let last = match undo {
        Undo::Keep { down_to } => down_to,
        // A finalized block cannot be reverted, nor can anything below it.
        Undo::Discard => tip,
    };
    for number in undo::undo_numbers(view, last)? {
        batch.delete(Table::Undo, &Key::block(number));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use store::ChainWriter;
    use store_conformance::RandomChain;

    use super::*;
    use crate::{EmbeddedStore, StoreOptions};

    #[tokio::test]
    async fn an_id_that_would_replace_another_one_is_not_given() {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let (mut chain, mut writer, keep) = (RandomChain::new(3), store.writer(), Undo::Keep { down_to: 0 });
        let first = chain.next_block(None);
        let parent = first.block.clone();
        writer.commit(vec![first], keep).await.unwrap();
        let next = chain.next_block(Some(&parent));
        let reader = store.reader();
        let engine = reader.engine();
        let set_topics = |log_topics: u64| {
            let (view, mut batch) = (engine.view(), engine.batch());
            let mut tip = meta::find_tip(&view).unwrap().unwrap();
            tip.totals.log_topics = log_topics;
            meta::put_tip(&mut batch, &tip);
            batch.commit().unwrap();
        };
        set_topics(1 << 40);
        let committed = writer.commit(vec![next.clone()], keep).await;
        assert!(matches!(committed, Err(StoreError::Corrupt(_))), "{committed:?}");
        assert_eq!(writer.tip().await.unwrap(), Some(parent.id()));
        set_topics(1 << 20);
        writer.commit(vec![next], keep).await.unwrap();
    }
}
