use async_trait::async_trait;
use domain::{BlockNumber, Credit, CreditClass, CreditFilter, Page, PageRequest};
use store::{CreditReader, StoreError};

use super::{conditions::ReadError, snapshot::ReadSnapshot};
use crate::{
    keys::{AddressId, CreditId, Key, ListKind, Table},
    lists::{List, Role},
    reader::EmbeddedReader,
    rows::CreditRow,
};

#[async_trait]
impl CreditReader for EmbeddedReader {
    async fn list_credits(&self, filter: &CreditFilter, page: PageRequest) -> Result<Page<Credit>, StoreError> {
        let filter = *filter;
        self.read_list(move |index| index.list_credits(&filter, page)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn list_credits(&self, filter: &CreditFilter, page: PageRequest) -> Result<Page<Credit>, ReadError> {
        let mut conditions = Vec::new();
        if let Some((to, class)) = filter.of {
            match self.condition(to, ListKind::of_credits(class), Role::Any)? {
                Some(condition) => conditions.push(condition),
                None => return Ok(Page::empty(0)),
            }
        }
        let Page { items, total } = self.select(&conditions, filter.blocks, |totals| totals.credits, page)?;
        let items = items.into_iter().map(|id| self.hydrate_credit(id)).collect::<Result<_, StoreError>>()?;
        Ok(Page { items, total })
    }

    /// The newest block that credited an address. Chains without credits are not looked at.
    pub(super) fn last_credited(&self, id: AddressId) -> Result<Option<BlockNumber>, StoreError> {
        if self.tip().is_none_or(|tip| tip.totals.credits == 0) {
            return Ok(None);
        }
        let mut last = None;
        for class in CreditClass::ALL {
            last = last.max(List::open(&self.view, ListKind::of_credits(class).of(id))?.last());
        }
        last.map(|id| self.credit_row(id).map(|row| row.block)).transpose()
    }

    fn credit_row(&self, id: CreditId) -> Result<CreditRow, StoreError> {
        let row = self.view.get(Table::Credit, &Key::id(id))?;
        CreditRow::from_row(&row.ok_or(StoreError::Corrupt("a credit is missing"))?)
    }

    fn hydrate_credit(&self, id: CreditId) -> Result<Credit, StoreError> {
        let row = self.credit_row(id)?;
        Ok(Credit {
            event: row.to_event(self.address(row.to)?),
            block_number: row.block,
            timestamp: self.block_row(row.block)?.timestamp,
        })
    }
}
