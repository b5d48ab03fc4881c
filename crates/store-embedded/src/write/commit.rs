use std::collections::BTreeSet;

use domain::{Address, BalanceSource, BlockChanges, BlockNumber};
use store::{
    ChainTotals, CurrentDay, StoreError, Undo, check_order,
    fetch_policy::{self, CodeEvent},
};

use super::{
    WriteState, approvals::rerank_approvals, holders, metadata, nfts::rerank_nfts, overwrite::Overwrites,
    ranks::rerank_tokens,
};
use crate::{
    engine::{Batch, Engine, View},
    keys::{AddressId, Key, ListKey, ListKind, Pair, Table, TxId, number_in_key},
    lists::{Entry, Roles},
    meta::{self, Tip},
    rows::{BlockRow, CreationRow, TokenRow, TransactionRow},
    token_status::find_token_status,
    undo::{self, UndoRecord},
};

impl WriteState {
    /// Appends blocks atomically.
    pub(crate) fn commit(&mut self, engine: &Engine, blocks: &[BlockChanges], undo: Undo) -> Result<(), StoreError> {
        let result = self.try_commit(engine, blocks, undo);
        if result.is_err() {
            self.tails.discard_changes();
            self.addresses.discard_changes();
            self.topics.discard_changes();
            self.log_sources.discard_changes();
            self.known_codes.clear();
        }
        result
    }

    fn try_commit(&mut self, engine: &Engine, blocks: &[BlockChanges], undo: Undo) -> Result<(), StoreError> {
        let view = engine.view();
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
        let tip = meta::find_tip(&view)?;
        let start = meta::find_binding(&view)?.map(|binding| binding.start_block);
        check_order(tip.as_ref().map(|tip| tip.block), start, blocks)?;

        let (overwrites, record) = match undo {
            Undo::Keep { .. } => (Overwrites::with_undo(&view), Some(UndoRecord::default())),
            Undo::Discard => (Overwrites::without_undo(&view), None),
        };
        let day = self.take_day(&view, tip.as_ref())?;
        let mut step = Step {
            state: self,
            view: &view,
            batch: engine.batch(),
            totals: tip.map(|tip| tip.totals).unwrap_or_default(),
            overwrites,
            record,
            day,
            moved_tokens: BTreeSet::new(),
            moved_pairs: BTreeSet::new(),
        };
        for block in blocks {
            step.add_block(block)?;
            step.end_block(block.block.number);
        }
        let Step { mut batch, totals, mut overwrites, day, moved_tokens, moved_pairs, .. } = step;
        let mut drifting = BTreeSet::new();
        for pair in moved_pairs {
            let key = Key::balance(pair);
            batch.put(Table::Unranked, &key, []);
            if find_token_status(&mut overwrites, pair.token)?
                .is_some_and(|status| status.balance_source == BalanceSource::Calls)
            {
                holders::mark_balance_pending(&mut batch, &key, last.block.number);
                drifting.insert(pair.token);
            }
        }
        for token in drifting {
            holders::mark_drifting_balances(&mut overwrites, &view, &mut batch, token, last.block.number)?;
        }
        for token in &moved_tokens {
            metadata::refresh_if_old(&view, &mut batch, *token, last.block.number)?;
            let transfers = self.tails.total(&view, ListKind::TokenTransfers.of(*token))?;
            holders::schedule_audit(&mut overwrites, &mut batch, *token, transfers, last.block.number)?;
        }
        sweep_where_source_changed(&overwrites, &mut batch)?;
        let addresses = &self.addresses;
        rerank_tokens(&moved_tokens, &mut overwrites, &view, &mut batch, |id| addresses.find(&view, id))?;
        rerank_nfts(&overwrites, &view, &mut batch)?;
        rerank_approvals(&overwrites, &view, &mut batch)?;
        overwrites.write(&mut batch);
        let start_block = tip.map_or(first.block.number, |tip| tip.start_block);
        meta::put_tip(&mut batch, &Tip { block: last.block.id(), start_block, totals });
        prune_undo(&view, &mut batch, undo, last.block.number)?;
        self.tails.write(&mut batch);
        batch.commit()?;
        self.tails.mark_committed();
        self.addresses.mark_committed();
        self.topics.mark_committed();
        self.log_sources.mark_committed();
        self.day = day;
        Ok(())
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

/// Starts a sweep for tokens whose balance source changed.
pub(super) fn sweep_where_source_changed(overwrites: &Overwrites<'_>, batch: &mut Batch) -> Result<(), StoreError> {
    for (key, change) in overwrites.changes(Table::Token) {
        let source = |row: &Option<Vec<u8>>| -> Result<Option<BalanceSource>, StoreError> {
            row.as_ref().map(|row| TokenRow::from_row(row).map(|row| row.balance_source)).transpose()
        };
        if fetch_policy::needs_sweep(source(&change.before)?, source(&change.now)?) {
            holders::begin_sweep(batch, number_in_key(key.as_slice(), 0)?);
        }
    }
    Ok(())
}

/// An unfinished batch.
pub(super) struct Step<'state, 'view> {
    pub(super) state: &'state mut WriteState,
    pub(super) view: &'view View,
    pub(super) batch: Batch,
    pub(super) totals: ChainTotals,
    pub(super) overwrites: Overwrites<'view>,
    /// The undo record of the current block, if it can be reverted.
    record: Option<UndoRecord>,
    /// The day of the last added block.
    day: Option<CurrentDay>,
    /// Tokens with transfers.
    pub(super) moved_tokens: BTreeSet<AddressId>,
    /// Holders whose balance may have changed.
    pub(super) moved_pairs: BTreeSet<Pair>,
}

impl Step<'_, '_> {
    fn add_block(&mut self, changes: &BlockChanges) -> Result<(), StoreError> {
        let block = &changes.block;
        let totals_before = self.totals;
        let day = CurrentDay::of_next_block(self.day, block.timestamp, totals_before.transactions);
        self.day = Some(day);
        let miner = self.address_id(block.miner, block.number)?;
        self.batch.put(Table::Block, &Key::block(block.number), BlockRow::new(block, miner, totals_before).to_row());
        self.batch.put(Table::BlockByHash, &Key::block_by_hash(&block.hash, block.number), []);
        self.append(ListKind::Mined.of(miner), Entry { id: block.number, roles: Roles::NONE })?;

        for touched in &changes.touched_holders {
            self.add_touched_holder(touched, block.number)?;
        }
        for pool in &changes.pools {
            self.add_pool(pool, block.number)?;
        }
        let mut involved = changes.involved.iter().peekable();
        let mut logs = changes.logs.iter().peekable();
        let mut transfers = changes.transfers.iter().peekable();
        let mut approvals = changes.approvals.iter().peekable();
        let mut trades = changes.trades.iter().peekable();
        let mut creations = changes.inner_creations.iter().flatten().peekable();
        for tx in &changes.transactions {
            let id = self.totals.transactions;
            let maker = self.add_transaction(id, tx, day)?;
            while let Some(involvement) = involved.next_if(|involvement| involvement.tx_index == tx.index) {
                let owner = self.address_id(involvement.address, block.number)?;
                self.note_code(owner, CodeEvent::Ran, block.number)?;
                self.append(ListKind::Involved.of(owner), Entry { id, roles: Roles::NONE })?;
            }
            while let Some(creation) = creations.next_if(|creation| creation.tx_index == tx.index) {
                let creator = Some(self.address_id(creation.creator, block.number)?);
                self.add_creation(creation.created, CreationRow { tx: id, creator }, block.number)?;
            }
            while let Some(log) = logs.next_if(|log| log.tx_index == tx.index) {
                self.add_log(id, log, block.number)?;
            }
            while let Some(transfer) = transfers.next_if(|transfer| transfer.tx_index == tx.index) {
                // In log order: a transfer ends the approval of its id.
                while let Some(approval) = approvals.next_if(|approval| approval.log_index < transfer.log_index) {
                    self.add_approval(id, approval, block.number)?;
                }
                self.add_transfer(id, transfer, block.number)?;
            }
            while let Some(approval) = approvals.next_if(|approval| approval.tx_index == tx.index) {
                self.add_approval(id, approval, block.number)?;
            }
            while let Some(trade) = trades.next_if(|trade| trade.tx_index == tx.index) {
                self.add_trade(id, maker, trade, block.number)?;
            }
        }
        self.totals.filled_blocks += u64::from(!changes.transactions.is_empty());
        self.totals.untraced_blocks += u64::from(changes.inner_creations.is_none());
        self.totals.gas_used = self.totals.gas_used.saturating_add(block.gas_used);
        self.totals.burnt_fees += block.burnt_fees();
        Ok(())
    }

    fn end_block(&mut self, number: BlockNumber) {
        if let Some(mut record) = self.record.as_mut().map(std::mem::take) {
            record.overwritten = self.overwrites.end_block();
            self.batch.put(Table::Undo, &Key::block(number), record.to_row());
        }
    }

    /// Returns the sender.
    fn add_transaction(
        &mut self,
        id: TxId,
        tx: &domain::Transaction,
        day: CurrentDay,
    ) -> Result<AddressId, StoreError> {
        let from = self.address_id(tx.from, tx.block_number)?;
        let to = tx.to.map(|to| self.address_id(to, tx.block_number)).transpose()?;
        let created = tx.created.map(|created| self.address_id(created, tx.block_number)).transpose()?;

        self.batch.put(Table::Transaction, &Key::id(id), TransactionRow::new(tx, from, to, created).to_row());
        self.batch.put(Table::TransactionByHash, &Key::transaction_by_hash(&tx.hash, id), []);
        if let Some(created) = tx.created {
            self.add_creation(created, CreationRow { tx: id, creator: None }, tx.block_number)?;
        }
        if let Some(to) = to.filter(|_| tx.method.is_some()) {
            self.note_code(to, CodeEvent::Called, tx.block_number)?;
        }
        let roles = Roles { from: true, to: to == Some(from) };
        let last = self.append(ListKind::Transactions.of(from), Entry { id, roles })?;
        self.totals.active_addresses += u64::from(day.is_first(last));
        if let Some(to) = to.filter(|to| *to != from) {
            let roles = Roles { from: false, to: true };
            let last = self.append(ListKind::Transactions.of(to), Entry { id, roles })?;
            self.totals.active_addresses += u64::from(day.is_first(last));
        }
        self.totals.transactions += 1;
        self.totals.gas_prices += domain::U256::from(tx.gas_price);
        self.totals.fees += tx.fee();
        Ok(from)
    }

    /// Contracts can be destroyed and created again at one address: the newest counts.
    fn add_creation(&mut self, created: Address, row: CreationRow, block: BlockNumber) -> Result<(), StoreError> {
        let created = self.address_id(created, block)?;
        self.note_code(created, CodeEvent::Created, block)?;
        self.totals.contracts += 1;
        self.overwrites.put(Table::Creation, &Key::id(created), Some(row.to_row()))
    }

    /// Returns the last id before.
    pub(super) fn append(&mut self, list: ListKey, entry: Entry) -> Result<Option<u64>, StoreError> {
        if let Some(record) = &mut self.record {
            record.grown_lists.insert(list);
        }
        self.state.tails.append(self.view, &mut self.batch, list, entry)
    }

    pub(super) fn address_id(&mut self, address: Address, block: BlockNumber) -> Result<AddressId, StoreError> {
        self.state.addresses.resolve(self.view, &mut self.batch, address, block, &mut self.totals.addresses)
    }
}
