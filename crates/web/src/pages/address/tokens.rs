use domain::{Address, Page, TokenBalance};

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    view::{AddressLink, Amount, TokenLink, sanitize_name},
};

pub(super) struct TokenRow {
    pub(super) key: Address,
    pub(super) token: TokenLink,
    pub(super) name: String,
    pub(super) contract: AddressLink,
    pub(super) kind: &'static str,
    pub(super) balance: Amount,
}

impl TabRequest<'_> {
    pub(super) async fn tokens(&self) -> Result<Page<TokenBalance>, PageError> {
        Ok(self.app.chain.list_address_tokens(self.address, self.page).await?)
    }

    pub(super) async fn token_rows(&self) -> Result<Page<TokenRow>, PageError> {
        let Page { items, total } = self.tokens().await?;
        let names = self.names;
        let rows = items.iter().map(|held| TokenRow {
            key: held.token.address,
            token: names.token(held.token.address, &held.token.metadata.symbol, &held.token.metadata.name),
            name: sanitize_name(&held.token.metadata.name),
            contract: AddressLink::without_name(held.token.address),
            kind: names.token_kind(held.token.kind),
            balance: Amount::of_token(held.balance, held.token.metadata.decimals),
        });
        Ok(Page { items: rows.collect(), total })
    }
}
