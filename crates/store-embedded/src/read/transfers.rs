use domain::{Page, PageRequest, Transfer, TransferEvent, TransferFilter};
use store::{Parties, StoreError};

use super::{conditions::ReadError, snapshot::ReadSnapshot};
use crate::{
    keys::{Key, ListKind, Table, TransferId},
    lists::Role,
    rows::TransferRow,
};

impl ReadSnapshot {
    pub(crate) fn list_transfers(
        &self,
        filter: &TransferFilter,
        page: PageRequest,
    ) -> Result<Page<Transfer>, ReadError> {
        let parties = Parties::of(filter.address, filter.from, filter.to);
        let Some(mut conditions) = self.conditions(parties, ListKind::Transfers)? else { return Ok(Page::empty(0)) };
        if let Some(token) = filter.token {
            match self.condition(token, ListKind::TokenTransfers, Role::Any)? {
                Some(condition) => conditions.push(condition),
                None => return Ok(Page::empty(0)),
            }
        }
        let Page { items, total } = self.select(&conditions, filter.blocks, |totals| totals.transfers, page)?;
        let items = items.into_iter().map(|id| self.hydrate_transfer(self.transfer_row(id)?));
        Ok(Page { items: items.collect::<Result<_, StoreError>>()?, total })
    }

    pub(super) fn transfer_row(&self, id: TransferId) -> Result<TransferRow, StoreError> {
        let row = self.view.get(Table::Transfer, &Key::id(id))?;
        TransferRow::from_row(&row.ok_or(StoreError::Corrupt("a transfer is missing"))?)
    }

    pub(super) fn hydrate_transfer(&self, row: TransferRow) -> Result<Transfer, StoreError> {
        let position = self.transaction_position(row.tx)?;
        let metadata = self.token_metadata(row.token)?;
        Ok(Transfer {
            event: TransferEvent {
                tx_index: position.tx_index,
                log_index: row.log_index,
                batch_index: row.batch_index,
                token: self.address(row.token)?,
                kind: row.kind,
                from: self.address(row.from)?,
                to: self.address(row.to)?,
                value: row.value,
                token_id: row.token_id,
            },
            tx_hash: position.tx_hash,
            block_number: position.block_number,
            timestamp: position.timestamp,
            token_name: metadata.known_name().map(str::to_owned),
            token_symbol: metadata.known_symbol().map(str::to_owned),
            token_decimals: metadata.decimals,
        })
    }
}
