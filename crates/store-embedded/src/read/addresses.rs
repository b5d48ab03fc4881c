use async_trait::async_trait;
use domain::{
    Address, AddressFacts, AddressOverview, AddressSummary, B256, Bytes, Creation, InternalFilter, PageRequest,
    TokenMetadata, TokenName, TradeFilter, TransactionFilter, TransferFilter,
};
use store::{AddressReader, StoreError};

use super::{conditions::ReadError, snapshot::ReadSnapshot};
use crate::{
    keys::{AddressId, Key, ListKind, Table},
    lists::{List, Role},
    reader::EmbeddedReader,
    rows::CreationRow,
    token_status::find_token_status,
};

#[async_trait]
impl AddressReader for EmbeddedReader {
    async fn find_address(&self, address: Address) -> Result<Option<AddressSummary>, StoreError> {
        self.read(move |index| index.find_address(address)).await
    }

    async fn find_address_overview(
        &self,
        address: Address,
        recent: u32,
    ) -> Result<Option<AddressOverview>, StoreError> {
        self.read_list(move |index| index.find_address_overview(address, recent)).await
    }

    async fn describe_addresses(&self, addresses: &[Address]) -> Result<Vec<AddressFacts>, StoreError> {
        let addresses = addresses.to_vec();
        self.read(move |index| addresses.iter().map(|address| index.describe_address(address)).collect()).await
    }

    async fn find_code_hash(&self, address: Address) -> Result<Option<B256>, StoreError> {
        self.read(move |index| index.find_code_hash(address)).await
    }

    async fn find_code(&self, code_hash: B256) -> Result<Option<Bytes>, StoreError> {
        self.read(move |index| index.find_code(code_hash)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn describe_address(&self, address: &Address) -> Result<AddressFacts, StoreError> {
        let Some(id) = self.address_id(address)? else { return Ok(AddressFacts::default()) };
        let token = match find_token_status(&mut &self.view, id)? {
            Some(_) => Some(self.token_metadata(id)?),
            None => None,
        };
        let token = token
            .filter(TokenMetadata::is_read)
            .map(|metadata| TokenName { symbol: metadata.symbol, name: metadata.name });
        let code_hash = self.code_hash(id)?;
        let has_no_code = code_hash.is_none() && self.is_code_known(id)?;
        Ok(AddressFacts { code_hash, has_no_code, token })
    }

    pub(crate) fn find_address(&self, address: Address) -> Result<Option<AddressSummary>, StoreError> {
        let Some(id) = self.address_id(&address)? else { return self.find_internal_party(address) };
        let transactions = List::open(&self.view, ListKind::Transactions.of(id))?;
        let involved = List::open(&self.view, ListKind::Involved.of(id))?;
        let mined = List::open(&self.view, ListKind::Mined.of(id))?;

        let first_seen = self.address_row(id)?.first_seen;
        let transfers = List::open(&self.view, ListKind::Transfers.of(id))?;
        let last_transfer_tx = transfers.last().map(|id| self.transfer_row(id).map(|row| row.tx)).transpose()?;
        let last_tx = transactions.last().max(involved.last()).max(last_transfer_tx);
        let last_tx_block = last_tx.map(|tx| self.transaction_row(tx).map(|row| row.block_number)).transpose()?;
        let last_seen = last_tx_block.max(mined.last()).max(self.last_credited(id)?).unwrap_or(first_seen);
        let (first_seen, last_seen) = match self.find_internal_activity(address)? {
            Some(internal) => (first_seen.min(internal.first_block), last_seen.max(internal.last_block)),
            None => (first_seen, last_seen),
        };

        Ok(Some(AddressSummary {
            address,
            tx_count: transactions.total(Role::Any),
            first_seen: self.block_row(first_seen)?.timestamp,
            last_seen: self.block_row(last_seen)?.timestamp,
            creation: self.find_creation(id)?,
        }))
    }

    /// An address that is only known from calls inside transactions.
    fn find_internal_party(&self, address: Address) -> Result<Option<AddressSummary>, StoreError> {
        let Some(internal) = self.find_internal_activity(address)? else { return Ok(None) };
        Ok(Some(AddressSummary {
            address,
            tx_count: 0,
            first_seen: self.block_row(internal.first_block)?.timestamp,
            last_seen: self.block_row(internal.last_block)?.timestamp,
            creation: None,
        }))
    }

    pub(crate) fn find_address_overview(
        &self,
        address: Address,
        recent: u32,
    ) -> Result<Option<AddressOverview>, ReadError> {
        let (Some(tip), Some(summary)) = (self.tip(), self.find_address(address)?) else { return Ok(None) };
        let touching = TransactionFilter::touching(address);
        let transfers = TransferFilter::touching(address);
        let trades = TradeFilter::of(address, self.find_pool(address)?.is_some());
        let internal = self.list_internal_transactions(&InternalFilter::touching(address), PageRequest::newest(0))?;
        Ok(Some(AddressOverview {
            tip: tip.block,
            summary,
            transfer_count: self.list_transfers(&transfers, PageRequest::newest(0))?.total,
            trade_count: self.list_trades(&trades, PageRequest::newest(0))?.total,
            internal_tx_count: internal.page.total,
            traced_range: internal.traced_range,
            log_count: self.address_id(&address)?.map_or(Ok(0), |id| self.count_logs(id))?,
            recent: self.list_transactions(&touching, PageRequest::newest(recent))?.items,
            token: self.find_token(address)?,
        }))
    }

    fn find_creation(&self, id: AddressId) -> Result<Option<Creation>, StoreError> {
        let Some(row) = self.view.get(Table::Creation, &Key::id(id))? else { return Ok(None) };
        let CreationRow { tx, creator } = CreationRow::from_row(&row)?;
        let tx = self.transaction_row(tx)?;
        let block_hash = self.block_row(tx.block_number)?.hash;
        Ok(Some(Creation { creator: self.address(creator.unwrap_or(tx.from))?, tx_hash: tx.hash, block_hash }))
    }
}
