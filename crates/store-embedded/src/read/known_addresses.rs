use async_trait::async_trait;
use domain::{Address, AddressOrigin, BlockNumber, BlockRange, ListedAddresses};
use store::{KnownAddressReader, StoreError};

use super::snapshot::ReadSnapshot;
use crate::{
    internal::next_party,
    keys::{Key, ListKind, Table},
    lists::{List, Role},
    reader::EmbeddedReader,
    rows::AddressRow,
};

#[async_trait]
impl KnownAddressReader for EmbeddedReader {
    async fn list_known_addresses(
        &self,
        origin: AddressOrigin,
        from: u64,
        limit: u32,
    ) -> Result<ListedAddresses, StoreError> {
        self.read(move |index| index.list_known_addresses(origin, from, limit)).await
    }

    async fn find_address_position(&self, block: BlockNumber) -> Result<Option<u64>, StoreError> {
        self.read(move |index| index.find_address_position(block)).await
    }

    async fn count_transactions(&self, addresses: &[Address]) -> Result<Vec<u64>, StoreError> {
        let addresses = addresses.to_vec();
        self.read(move |index| addresses.iter().map(|address| index.count_transactions(address)).collect()).await
    }
}

impl ReadSnapshot {
    /// Reads the rows in their order, past the cache: it would not be asked for them again.
    pub(crate) fn list_known_addresses(
        &self,
        origin: AddressOrigin,
        from: u64,
        limit: u32,
    ) -> Result<ListedAddresses, StoreError> {
        let (table, end) = match origin {
            AddressOrigin::Blocks => (Table::Address, self.tip().map_or(0, |tip| tip.totals.addresses)),
            AddressOrigin::InternalTransactions => (Table::InternalParty, next_party(self.view())?),
        };
        let from = from.min(end);
        let next = from.saturating_add(u64::from(limit)).min(end);
        let mut addresses = Vec::new();
        let rows = (from < next).then(|| self.view().range(table, &Key::id(from), &Key::id(next)));
        for row in rows.into_iter().flatten() {
            let (_, row) = row?;
            match origin {
                AddressOrigin::Blocks => addresses.push(AddressRow::from_row(&row)?.address),
                AddressOrigin::InternalTransactions => {
                    let address = Address::try_from(&*row);
                    let address = address.map_err(|_| StoreError::Corrupt("an address of another length"))?;
                    if self.address_id(&address)?.is_none() {
                        addresses.push(address);
                    }
                }
            }
        }
        Ok(ListedAddresses { addresses, next, end })
    }

    pub(crate) fn find_address_position(&self, block: BlockNumber) -> Result<Option<u64>, StoreError> {
        let span = self.block_span(BlockRange::only(block));
        if span.is_empty() {
            return Ok(None);
        }
        self.totals_before(span.end).map(|totals| Some(totals.addresses))
    }

    pub(crate) fn count_transactions(&self, address: &Address) -> Result<u64, StoreError> {
        let Some(id) = self.address_id(address)? else { return Ok(0) };
        Ok(List::open(self.view(), ListKind::Transactions.of(id))?.total(Role::Any))
    }
}
