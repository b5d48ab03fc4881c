use async_trait::async_trait;
use domain::{
    Address, Balance, BalanceKey, Holder, Order, Page, PageRequest, Token, TokenBalance, TokenBalanceAt, TokenMetadata,
};
use store::{StoreError, TokenReader};

use super::snapshot::ReadSnapshot;
use crate::{
    keys::{AddressId, Key, ListKind, Pair, Table, number_in_key},
    lists::{List, Role},
    ranked::{RankedSet, SortKey, member_count, members_from},
    reader::EmbeddedReader,
    rows::{balance_from_row, metadata_from_row},
    token_status::{find_balance, find_token_status},
};

#[async_trait]
impl TokenReader for EmbeddedReader {
    async fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        self.read(move |index| index.list_tokens(page)).await
    }

    async fn find_token(&self, address: Address) -> Result<Option<Token>, StoreError> {
        self.read(move |index| index.find_token(address)).await
    }

    async fn search_tokens(&self, beginning: &str, limit: usize) -> Result<Vec<Token>, StoreError> {
        let beginning = beginning.to_owned();
        self.read(move |index| index.search_tokens(&beginning, limit)).await
    }

    async fn list_holders(&self, token: Address, page: PageRequest) -> Result<Option<Page<Holder>>, StoreError> {
        self.read(move |index| index.list_holders(token, page)).await
    }

    async fn list_address_tokens(&self, address: Address, page: PageRequest) -> Result<Page<TokenBalance>, StoreError> {
        self.read(move |index| index.list_address_tokens(address, page)).await
    }

    async fn find_token_balance(&self, key: BalanceKey) -> Result<Option<TokenBalanceAt>, StoreError> {
        self.read(move |index| index.find_token_balance(key)).await
    }
}

impl ReadSnapshot {
    pub(crate) fn find_token(&self, address: Address) -> Result<Option<Token>, StoreError> {
        match self.address_id(&address)? {
            Some(id) => self.token(id, address),
            None => Ok(None),
        }
    }

    pub(super) fn token(&self, id: AddressId, address: Address) -> Result<Option<Token>, StoreError> {
        let Some(status) = find_token_status(&mut &self.view, id)? else { return Ok(None) };
        Ok(Some(Token {
            address,
            kind: status.row.kind,
            metadata: self.token_metadata(id)?,
            holder_count: status.holder_count,
            held: status.row.held,
            transfer_count: List::open(&self.view, ListKind::TokenTransfers.of(id))?.total(Role::Any),
            balance_source: status.balance_source,
            audited_block: status.audit.map(|audit| audit.block),
        }))
    }

    pub(crate) fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        let total = self.tip().map_or(0, |tip| tip.totals.tokens);
        let items = self.ranked_page(RankedSet::Tokens, total, page)?.into_iter().map(|sort_key| {
            let (_, address) = SortKey::parts(&sort_key).ok_or(BAD_SORT_KEY)?;
            let address = Address::try_from(address).map_err(|_| BAD_SORT_KEY)?;
            self.find_token(address)?.ok_or(StoreError::Corrupt("a ranked token is missing"))
        });
        Ok(Page { items: items.collect::<Result<_, _>>()?, total })
    }

    pub(crate) fn list_holders(&self, token: Address, page: PageRequest) -> Result<Option<Page<Holder>>, StoreError> {
        let Some(token) = self.address_id(&token)? else { return Ok(None) };
        if self.view.get(Table::Token, &Key::id(token))?.is_none() {
            return Ok(None);
        }
        let set = RankedSet::Holders { token };
        let total = member_count(&self.view, set)?;
        let items = self.ranked_page(set, total, page)?.into_iter().map(|sort_key| {
            let (balance, holder) = SortKey::parts(&sort_key).ok_or(BAD_SORT_KEY)?;
            Ok(Holder { address: self.address(number_in_key(holder, 0)?)?, balance })
        });
        Ok(Some(Page { items: items.collect::<Result<_, StoreError>>()?, total }))
    }

    pub(crate) fn list_address_tokens(
        &self,
        address: Address,
        page: PageRequest,
    ) -> Result<Page<TokenBalance>, StoreError> {
        let Some(holder) = self.address_id(&address)? else { return Ok(Page::empty(0)) };
        let set = RankedSet::HeldTokens { holder };
        let total = member_count(&self.view, set)?;
        let items = self.ranked_page(set, total, page)?.into_iter().map(|sort_key| {
            let (_, token) = SortKey::parts(&sort_key).ok_or(BAD_SORT_KEY)?;
            let id = number_in_key(token, 0)?;
            let balance = self.view.get(Table::RankedBalance, &Key::balance(Pair { token: id, holder }))?;
            Ok(TokenBalance {
                token: self.token(id, self.address(id)?)?.ok_or(StoreError::Corrupt("a held token is missing"))?,
                balance: balance_from_row(&balance.ok_or(StoreError::Corrupt("a held token without a balance"))?)?,
            })
        });
        Ok(Page { items: items.collect::<Result<_, StoreError>>()?, total })
    }

    pub(crate) fn find_token_balance(&self, key: BalanceKey) -> Result<Option<TokenBalanceAt>, StoreError> {
        let (Some(tip), Some(token)) = (self.tip(), self.find_token(key.token)?) else { return Ok(None) };
        let balance = match (self.address_id(&key.token)?, self.address_id(&key.holder)?) {
            (Some(token), Some(holder)) => find_balance(&mut &self.view, Pair { token, holder })?,
            _ => Balance::ZERO,
        };
        Ok(Some(TokenBalanceAt { token, balance, block: tip.block }))
    }

    /// The sort keys on a page. The default order of a ranked set is its stored order; the other one starts at its end.
    pub(super) fn ranked_page(
        &self,
        set: RankedSet,
        total: u64,
        page: PageRequest,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let own_order = PageRequest { order: Order::OldestFirst, ..page };
        let mut ranks: Vec<u64> = own_order.ranks(total).collect();
        if page.order == Order::OldestFirst {
            ranks.iter_mut().for_each(|rank| *rank = total - 1 - *rank);
        }
        let Some(&first) = ranks.iter().min() else { return Ok(Vec::new()) };
        let mut keys = members_from(&self.view, set, first, ranks.len())?;
        if page.order == Order::OldestFirst {
            keys.reverse();
        }
        Ok(keys)
    }

    /// The token's metadata; empty if it was not fetched yet.
    pub(super) fn token_metadata(&self, id: AddressId) -> Result<TokenMetadata, StoreError> {
        if let Some(metadata) = self.token_metadata.borrow().get(&id) {
            return Ok(metadata.clone());
        }
        let metadata = match self.view.get(Table::TokenMetadata, &Key::id(id))? {
            Some(row) => metadata_from_row(&row)?,
            None => TokenMetadata::default(),
        };
        self.token_metadata.borrow_mut().insert(id, metadata.clone());
        Ok(metadata)
    }
}

pub(super) const BAD_SORT_KEY: StoreError = StoreError::Corrupt("a ranked set with an invalid sort key");
