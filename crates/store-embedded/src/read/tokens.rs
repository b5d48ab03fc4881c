use domain::{Address, Order, Page, PageRequest, Token, TokenFacts};
use store::StoreError;

use super::Reading;
use crate::keys::{AddressId, Key, ListKind, Table};
use crate::lists::{List, Role};
use crate::ranked::{RankedSet, SortKey, members_from};
use crate::rows::{TokenRow, facts_from_row};

impl Reading {
    pub(crate) fn find_token(&self, address: Address) -> Result<Option<Token>, StoreError> {
        let Some(id) = self.address_id(&address)? else { return Ok(None) };
        let Some(row) = self.view.get(Table::Token, &Key::id(id))? else { return Ok(None) };
        let row = TokenRow::from_row(&row)?;
        Ok(Some(Token {
            address,
            kind: row.kind,
            facts: self.token_facts(id)?,
            holder_count: row.holder_count,
            transfer_count: List::open(&self.view, ListKind::TokenTransfers.of(id))?.total(Role::Any),
            balance_source: row.balance_source,
        }))
    }

    pub(crate) fn list_tokens(&self, page: PageRequest) -> Result<Page<Token>, StoreError> {
        let total = self.tip().map_or(0, |tip| tip.totals.tokens);
        // The set stands most held first; its other end is reached by counting from there.
        let turned = PageRequest { order: Order::OldestFirst, ..page };
        let mut places: Vec<u64> = turned.ranks(total).collect();
        if page.order == Order::OldestFirst {
            places.iter_mut().for_each(|place| *place = total - 1 - *place);
        }
        let Some(&first) = places.iter().min() else { return Ok(Page::empty(total)) };
        let mut items = members_from(&self.view, RankedSet::Tokens, first, places.len())?
            .into_iter()
            .map(|sort_key| {
                let address = Address::try_from(SortKey::tie(&sort_key));
                let address = address.map_err(|_| StoreError::Corrupt("a ranked token without an address"))?;
                self.find_token(address)?.ok_or(StoreError::Corrupt("a ranked token that is none"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        if page.order == Order::OldestFirst {
            items.reverse();
        }
        Ok(Page { items, total })
    }

    /// What the token says of itself; nothing as long as it was not asked.
    pub(super) fn token_facts(&self, id: AddressId) -> Result<TokenFacts, StoreError> {
        if let Some(facts) = self.token_facts.borrow().get(&id) {
            return Ok(facts.clone());
        }
        let facts = match self.view.get(Table::TokenFacts, &Key::id(id))? {
            Some(row) => facts_from_row(&row)?,
            None => TokenFacts::default(),
        };
        self.token_facts.borrow_mut().insert(id, facts.clone());
        Ok(facts)
    }
}
