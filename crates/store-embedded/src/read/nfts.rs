use async_trait::async_trait;
use domain::{Address, Balance, HeldNft, Holder, Nft, Order, Page, PageRequest, TokenKind, Transfer, U256};
use store::{NftReader, StoreError};

use super::{select::seek_page, snapshot::ReadSnapshot, tokens::BAD_SORT_KEY};
use crate::{
    keys::{AddressId, Key, ListKind, NftId, Table, number_in_key},
    lists::{List, Role},
    ranked::{RankedSet, SortKey, member_count},
    reader::EmbeddedReader,
    rows::{NftRow, balance_from_row},
};

#[async_trait]
impl NftReader for EmbeddedReader {
    async fn list_nfts(&self, token: Address, page: PageRequest) -> Result<Option<Page<Nft>>, StoreError> {
        self.read(move |index| index.list_nfts(token, page)).await
    }

    async fn find_nft(&self, token: Address, id: U256) -> Result<Option<Nft>, StoreError> {
        self.read(move |index| index.find_nft(token, id)).await
    }

    async fn list_nft_holders(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Holder>>, StoreError> {
        self.read(move |index| index.list_nft_holders(token, id, page)).await
    }

    async fn list_nft_transfers(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Transfer>>, StoreError> {
        self.read(move |index| index.list_nft_transfers(token, id, page)).await
    }

    async fn list_held_nfts(&self, address: Address, page: PageRequest) -> Result<Page<HeldNft>, StoreError> {
        self.read(move |index| index.list_held_nfts(address, page)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn list_nfts(&self, token: Address, page: PageRequest) -> Result<Option<Page<Nft>>, StoreError> {
        let Some(token) = self.address_id(&token)? else { return Ok(None) };
        if self.view.get(Table::Token, &Key::id(token))?.is_none() {
            return Ok(None);
        }
        let list = List::open(&self.view, ListKind::TokenNfts.of(token))?;
        let Page { items, total } = seek_page(&list, Role::Any, 0..u64::MAX, page)?;
        let items = items.into_iter().map(|nft| self.nft(nft, self.nft_row(nft)?));
        Ok(Some(Page { items: items.collect::<Result<_, StoreError>>()?, total }))
    }

    pub(crate) fn find_nft(&self, token: Address, id: U256) -> Result<Option<Nft>, StoreError> {
        let Some(nft) = self.nft_id(token, id)? else { return Ok(None) };
        self.nft(nft, self.nft_row(nft)?).map(Some)
    }

    pub(crate) fn list_nft_holders(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Holder>>, StoreError> {
        let Some(nft) = self.nft_id(token, id)? else { return Ok(None) };
        if self.nft_row(nft)?.kind == TokenKind::Bep721 {
            let owner = self.nft_owner(nft)?.map(|address| Holder { address, balance: Balance::from(1) });
            let total = u64::from(owner.is_some());
            return Ok(Some(Page { items: page.ranks(total).filter_map(|_| owner).collect(), total }));
        }
        let set = RankedSet::NftHolders { nft };
        let total = member_count(&self.view, set)?;
        let items = self.ranked_page(set, total, page)?.into_iter().map(|sort_key| {
            let (balance, holder) = SortKey::parts(&sort_key).ok_or(BAD_SORT_KEY)?;
            Ok(Holder { address: self.address(number_in_key(holder, 0)?)?, balance })
        });
        Ok(Some(Page { items: items.collect::<Result<_, StoreError>>()?, total }))
    }

    pub(crate) fn list_nft_transfers(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Transfer>>, StoreError> {
        let Some(nft) = self.nft_id(token, id)? else { return Ok(None) };
        let list = List::open(&self.view, ListKind::NftTransfers.of(nft))?;
        let Page { items, total } = seek_page(&list, Role::Any, 0..u64::MAX, page)?;
        let items = items.into_iter().map(|transfer| self.hydrate_transfer(self.transfer_row(transfer)?));
        Ok(Some(Page { items: items.collect::<Result<_, StoreError>>()?, total }))
    }

    pub(crate) fn list_held_nfts(&self, address: Address, page: PageRequest) -> Result<Page<HeldNft>, StoreError> {
        let Some(holder) = self.address_id(&address)? else { return Ok(Page::empty(0)) };
        let set = RankedSet::HeldNfts { holder };
        let total = member_count(&self.view, set)?;
        // The set is stored with the oldest first.
        let order = match page.order {
            Order::NewestFirst => Order::OldestFirst,
            Order::OldestFirst => Order::NewestFirst,
        };
        let items = self.ranked_page(set, total, PageRequest { order, ..page })?.into_iter().map(|sort_key| {
            let (_, nft) = SortKey::parts(&sort_key).ok_or(BAD_SORT_KEY)?;
            self.held_nft(number_in_key(nft, 0)?, holder)
        });
        Ok(Page { items: items.collect::<Result<_, StoreError>>()?, total })
    }

    fn held_nft(&self, nft: NftId, holder: AddressId) -> Result<HeldNft, StoreError> {
        let NftRow { token, kind, id } = self.nft_row(nft)?;
        let amount = match kind {
            TokenKind::Bep721 => Balance::from(1),
            TokenKind::Bep20 | TokenKind::Bep1155 => {
                let row = self.view.get(Table::NftBalance, &Key::nft_balance(nft, holder))?;
                balance_from_row(&row.ok_or(StoreError::Corrupt("a held NFT without an amount"))?)?
            }
        };
        let metadata = self.token_metadata(token)?;
        let [token_name, token_symbol] =
            [metadata.known_name(), metadata.known_symbol()].map(|name| name.map(str::to_owned));
        Ok(HeldNft { token: self.address(token)?, kind, token_name, token_symbol, id, amount })
    }

    fn nft(&self, nft: NftId, row: NftRow) -> Result<Nft, StoreError> {
        let owner = self.nft_owner(nft)?;
        let holder_count = match row.kind {
            TokenKind::Bep721 => u64::from(owner.is_some()),
            TokenKind::Bep20 | TokenKind::Bep1155 => member_count(&self.view, RankedSet::NftHolders { nft })?,
        };
        Ok(Nft {
            token: self.address(row.token)?,
            id: row.id,
            kind: row.kind,
            owner,
            holder_count,
            transfer_count: List::open(&self.view, ListKind::NftTransfers.of(nft))?.total(Role::Any),
        })
    }

    fn nft_id(&self, token: Address, id: U256) -> Result<Option<NftId>, StoreError> {
        let Some(token) = self.address_id(&token)? else { return Ok(None) };
        self.view.get(Table::NftId, &Key::nft(token, &id))?.map(|row| number_in_key(&row, 0)).transpose()
    }

    fn nft_row(&self, nft: NftId) -> Result<NftRow, StoreError> {
        let row = self.view.get(Table::Nft, &Key::id(nft))?;
        NftRow::from_row(&row.ok_or(StoreError::Corrupt("an NFT is missing"))?)
    }

    fn nft_owner(&self, nft: NftId) -> Result<Option<Address>, StoreError> {
        let row = self.view.get(Table::NftOwner, &Key::id(nft))?;
        row.map(|row| self.address(number_in_key(&row, 0)?)).transpose()
    }
}
