use async_trait::async_trait;
use domain::{Page, PageRequest, Transfer, TransferFilter};
use store::{Parties, StoreError, TransferReader};

use super::{conditions::ReadError, snapshot::ReadSnapshot};
use crate::{
    keys::{Key, ListKind, Table, TransferId},
    lists::Role,
    reader::EmbeddedReader,
    rows::TransferRow,
};

#[async_trait]
impl TransferReader for EmbeddedReader {
    async fn list_transfers(&self, filter: &TransferFilter, page: PageRequest) -> Result<Page<Transfer>, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_transfers(&filter, page)).await
    }
}

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
        let rows = self.rows(Table::Transfer, &items)?;
        let rows = rows.iter().map(|row| TransferRow::from_row(row)).collect::<Result<Vec<_>, _>>()?;
        self.read_positions(rows.iter().map(|row| row.tx))?;
        let items = rows.into_iter().map(|row| self.hydrate_transfer(row));
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
            event: row.into_event(position.tx_index, |id| self.address(id))?,
            tx_hash: position.tx_hash,
            block_number: position.block_number,
            timestamp: position.timestamp,
            token_name: metadata.known_name().map(str::to_owned),
            token_symbol: metadata.known_symbol().map(str::to_owned),
            token_decimals: metadata.decimals,
        })
    }
}
