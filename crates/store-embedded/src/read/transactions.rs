use async_trait::async_trait;
use domain::{B256, Page, PageRequest, Transaction, TransactionEvents, TransactionFilter};
use store::{Parties, StoreError, TransactionReader};

use super::{conditions::ReadError, positions::TransactionPosition, snapshot::ReadSnapshot};
use crate::{
    keys::{Key, ListKind, Table, TxId, number_after_hash},
    reader::EmbeddedReader,
    rows::TransactionRow,
};

#[async_trait]
impl TransactionReader for EmbeddedReader {
    async fn find_transaction(&self, hash: B256) -> Result<Option<Transaction>, StoreError> {
        self.read(move |index| index.find_transaction(hash)).await
    }

    async fn list_transactions(
        &self,
        filter: &TransactionFilter,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_transactions(&filter, page)).await
    }

    async fn find_transaction_events(
        &self,
        hash: B256,
        offset: u64,
        limit: u32,
    ) -> Result<Option<TransactionEvents>, StoreError> {
        self.read(move |index| index.find_transaction_events(hash, offset, limit)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn find_transaction(&self, hash: B256) -> Result<Option<Transaction>, StoreError> {
        let found = self.find_transaction_row(hash)?;
        found.map(|(id, row)| self.hydrate_transaction(id, row)).transpose()
    }

    pub(super) fn find_transaction_row(&self, hash: B256) -> Result<Option<(TxId, TransactionRow)>, StoreError> {
        for key in self.view.prefix(Table::TransactionByHash, &Key::hash_prefix(&hash)) {
            let id = number_after_hash(&key?.0)?;
            let row = self.transaction_row(id)?;
            if row.hash == hash {
                return Ok(Some((id, row)));
            }
        }
        Ok(None)
    }

    pub(crate) fn list_transactions(
        &self,
        filter: &TransactionFilter,
        page: PageRequest,
    ) -> Result<Page<Transaction>, ReadError> {
        let parties = Parties::of(filter.address, filter.from, filter.to);
        let Some(conditions) = self.conditions(parties, ListKind::Transactions)? else { return Ok(Page::empty(0)) };
        let Page { items, total } = self.select(&conditions, filter.blocks, |totals| totals.transactions, page)?;
        Ok(Page { items: self.hydrate_transactions(&items)?, total })
    }

    fn hydrate_transactions(&self, ids: &[TxId]) -> Result<Vec<Transaction>, StoreError> {
        let rows = self.rows(Table::Transaction, ids)?;
        let each = ids.iter().zip(rows);
        each.map(|(id, row)| self.hydrate_transaction(*id, TransactionRow::from_row(&row)?)).collect()
    }

    pub(super) fn transaction_row(&self, id: TxId) -> Result<TransactionRow, StoreError> {
        let row = self.view.get(Table::Transaction, &Key::id(id))?;
        TransactionRow::from_row(&row.ok_or(StoreError::Corrupt("a transaction is missing"))?)
    }

    pub(super) fn transaction_position(&self, id: TxId) -> Result<TransactionPosition, StoreError> {
        if let Some(position) = self.event_transactions.borrow().get(&id) {
            return Ok(*position);
        }
        self.note_position(id, &self.transaction_row(id)?)
    }

    /// Reads the transactions of neighbouring events at once.
    pub(super) fn read_positions(&self, of_events: impl Iterator<Item = TxId>) -> Result<(), StoreError> {
        let mut ids: Vec<TxId> = of_events.collect();
        ids.dedup();
        for (id, row) in ids.iter().zip(self.rows(Table::Transaction, &ids)?) {
            self.note_position(*id, &TransactionRow::from_row(&row)?)?;
        }
        Ok(())
    }

    fn note_position(&self, id: TxId, row: &TransactionRow) -> Result<TransactionPosition, StoreError> {
        let block = self.block_row(row.block_number)?;
        let tx_index = id.checked_sub(block.totals.transactions).and_then(|index| u32::try_from(index).ok());
        let position = TransactionPosition {
            tx_hash: row.hash,
            tx_index: tx_index.ok_or(StoreError::Corrupt("a transaction outside its block"))?,
            from: row.from,
            block_number: row.block_number,
            timestamp: block.timestamp,
        };
        self.event_transactions.borrow_mut().insert(id, position);
        Ok(position)
    }

    fn hydrate_transaction(&self, id: TxId, row: TransactionRow) -> Result<Transaction, StoreError> {
        let block = self.block_row(row.block_number)?;
        let index = id.checked_sub(block.totals.transactions).and_then(|index| u32::try_from(index).ok());
        let index = index.ok_or(StoreError::Corrupt("a transaction outside its block"))?;
        row.into_transaction(index, &block, |id| self.address(id))
    }
}
