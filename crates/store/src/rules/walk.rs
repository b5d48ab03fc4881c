//! The walk over the blocks of a commit, in the order of the chain. It decides which ids are given, what is counted, and which lists
//! and balances change; a sink keeps it.

mod approvals;
mod codes;
mod events;
mod tokens;

use domain::{Address, Block, BlockChanges, BlockNumber, CreditEvent, Transaction};

use super::{
    BlockSink, ChainTotals, Creation, CurrentDay, ListKey, TransactionIds, fetch_policy::CodeEvent, lists_of_block,
    lists_of_credit, lists_of_involvement, lists_of_transaction,
};
use crate::{Party, StoreError};

/// A walk over blocks that follow the tip.
#[derive(Debug)]
pub struct Walk<S> {
    sink: S,
    /// Up to the place that was reached. They are also the next ids.
    totals: ChainTotals,
    /// The day of the last block.
    day: Option<CurrentDay>,
}

/// Events have their transaction by its position in the block: those of the next one.
macro_rules! events_of {
    ($events:ident, $tx:expr) => {
        std::iter::from_fn(|| $events.next_if(|event| event.tx_index == $tx.index))
    };
}

impl<S: BlockSink> Walk<S> {
    /// Begins at the tip, given the totals up to it and its day.
    pub fn new(sink: S, totals: ChainTotals, day: Option<CurrentDay>) -> Self {
        Self { sink, totals, day }
    }

    /// Returns the totals and the day after the last block.
    pub fn finish(self) -> (S, ChainTotals, Option<CurrentDay>) {
        (self.sink, self.totals, self.day)
    }

    pub fn add_block(&mut self, changes: &BlockChanges) -> Result<(), StoreError> {
        let block = &changes.block;
        let day = self.begin_block(block)?;
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
            let maker = self.add_transaction(id, tx, block.base_fee_per_gas, day)?;
            for involvement in events_of!(involved, tx) {
                self.add_involvement(id, involvement.address, block.number)?;
            }
            for creation in events_of!(creations, tx) {
                let creator = Some(self.address_id(creation.creator, block.number)?);
                self.add_creation(creation.created, Creation { tx: id, creator }, block.number)?;
            }
            for log in events_of!(logs, tx) {
                self.add_log(id, log, block.number)?;
            }
            for transfer in events_of!(transfers, tx) {
                // In log order: a transfer ends the approval of its id.
                while let Some(approval) = approvals.next_if(|approval| approval.log_index < transfer.log_index) {
                    self.add_approval(id, approval, block.number)?;
                }
                self.add_transfer(id, transfer, block.number)?;
            }
            for approval in events_of!(approvals, tx) {
                self.add_approval(id, approval, block.number)?;
            }
            for trade in events_of!(trades, tx) {
                self.add_trade(id, maker, trade, block.number)?;
            }
        }
        // One of no transaction, or out of order, would be missing in the index, and so would all after it.
        let left_over = [
            involved.next().is_some(),
            creations.next().is_some(),
            logs.next().is_some(),
            transfers.next().is_some(),
            approvals.next().is_some(),
            trades.next().is_some(),
        ];
        if left_over.contains(&true) {
            return Err(StoreError::Corrupt("an event outside the transactions of its block"));
        }
        for credit in &changes.credits {
            self.add_credit(credit, block.number)?;
        }
        self.totals.filled_blocks += u64::from(!changes.transactions.is_empty());
        self.totals.untraced_blocks += u64::from(changes.inner_creations.is_none());
        self.totals.add_gas(block.gas_used);
        self.sink.end_block(block.number)
    }

    fn begin_block(&mut self, block: &Block) -> Result<CurrentDay, StoreError> {
        let before = self.totals;
        let day = CurrentDay::of_next_block(self.day, block.timestamp, before.transactions);
        self.day = Some(day);
        let miner = self.address_id(block.miner, block.number)?;
        self.sink.put_block(block, miner, &before)?;
        self.append(block.number, lists_of_block(miner))?;
        Ok(day)
    }

    /// Returns the sender.
    fn add_transaction(
        &mut self,
        id: u64,
        tx: &Transaction,
        base_fee: Option<u128>,
        day: CurrentDay,
    ) -> Result<u64, StoreError> {
        let from = self.address_id(tx.from, tx.block_number)?;
        let to = tx.to.map(|to| self.address_id(to, tx.block_number)).transpose()?;
        let created = tx.created.map(|created| self.address_id(created, tx.block_number)).transpose()?;
        self.sink.put_transaction(id, tx, TransactionIds { from, to, created })?;
        if let Some(created) = tx.created {
            self.add_creation(created, Creation { tx: id, creator: None }, tx.block_number)?;
        }
        if let Some(to) = to.filter(|_| tx.method.is_some()) {
            self.note_code(to, CodeEvent::Called, tx.block_number)?;
        }
        for (list, party) in lists_of_transaction(from, to) {
            let last = self.sink.append(list, id, party)?;
            self.totals.active_addresses += u64::from(day.is_first(last));
        }
        self.totals.transactions += 1;
        self.totals.add_fee(tx, base_fee);
        Ok(from)
    }

    fn add_involvement(&mut self, tx: u64, address: Address, block: BlockNumber) -> Result<(), StoreError> {
        let address = self.address_id(address, block)?;
        self.note_code(address, CodeEvent::Ran, block)?;
        self.append(tx, lists_of_involvement(address))
    }

    fn add_creation(&mut self, created: Address, creation: Creation, block: BlockNumber) -> Result<(), StoreError> {
        let created = self.address_id(created, block)?;
        self.note_code(created, CodeEvent::Created, block)?;
        self.totals.contracts += 1;
        self.sink.put_creation(created, creation)
    }

    fn add_credit(&mut self, credit: &CreditEvent, block: BlockNumber) -> Result<(), StoreError> {
        let to = self.address_id(credit.to, block)?;
        let id = self.totals.credits;
        self.totals.credits += 1;
        self.sink.put_credit(id, block, credit, to)?;
        self.append(id, lists_of_credit(credit.source, to))
    }

    fn append(&mut self, entry: u64, lists: impl Iterator<Item = (ListKey, Party)>) -> Result<(), StoreError> {
        for (list, party) in lists {
            self.sink.append(list, entry, party)?;
        }
        Ok(())
    }

    fn address_id(&mut self, address: Address, block: BlockNumber) -> Result<u64, StoreError> {
        self.sink.address_id(address, block, &mut self.totals.addresses)
    }
}
