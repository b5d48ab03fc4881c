use async_trait::async_trait;
use domain::{Address, Approval, Order, Page, PageRequest};
use store::{ApprovalReader, StoreError};

use super::{snapshot::ReadSnapshot, tokens::BAD_SORT_KEY};
use crate::{
    keys::{ApprovalId, Key, Table, number_in_key},
    ranked::{RankedSet, SortKey, member_count},
    reader::EmbeddedReader,
    rows::ApprovalRow,
    token_status::find_token_status,
};

#[async_trait]
impl ApprovalReader for EmbeddedReader {
    async fn list_approvals(&self, owner: Address, page: PageRequest) -> Result<Page<Approval>, StoreError> {
        self.read(move |index| index.list_approvals(owner, page)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn list_approvals(&self, owner: Address, page: PageRequest) -> Result<Page<Approval>, StoreError> {
        let Some(owner) = self.address_id(&owner)? else { return Ok(Page::empty(0)) };
        let set = RankedSet::Approvals { owner };
        let total = member_count(&self.view, set)?;
        // The set is stored with the oldest first.
        let order = match page.order {
            Order::NewestFirst => Order::OldestFirst,
            Order::OldestFirst => Order::NewestFirst,
        };
        let items = self.ranked_page(set, total, PageRequest { order, ..page })?.into_iter().map(|sort_key| {
            let (_, id) = SortKey::parts(&sort_key).ok_or(BAD_SORT_KEY)?;
            self.approval(number_in_key(id, 0)?)
        });
        Ok(Page { items: items.collect::<Result<_, StoreError>>()?, total })
    }

    fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        let row = self.view.get(Table::Approval, &Key::id(id))?;
        let row = ApprovalRow::from_row(&row.ok_or(StoreError::Corrupt("an approval is missing"))?)?;
        let metadata = self.token_metadata(row.token)?;
        let position = self.transaction_position(row.tx)?;
        Ok(Approval {
            token: self.address(row.token)?,
            token_kind: find_token_status(&mut &self.view, row.token)?.map(|status| status.row.kind),
            token_name: metadata.known_name().map(str::to_owned),
            token_symbol: metadata.known_symbol().map(str::to_owned),
            token_decimals: metadata.decimals,
            spender: row.spender,
            scope: row.scope,
            value: row.value,
            tx_hash: position.tx_hash,
            block_number: position.block_number,
            timestamp: position.timestamp,
        })
    }
}
