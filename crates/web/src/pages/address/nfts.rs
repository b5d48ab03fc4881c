use domain::Page;

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    pages::nft::metadata::nft_link,
    view::{Amount, NftLink, TokenLink},
};

pub(super) struct NftRow {
    pub(super) key: String,
    pub(super) token: TokenLink,
    pub(super) kind: &'static str,
    pub(super) id: NftLink,
    pub(super) amount: Amount,
}

impl TabRequest<'_> {
    pub(super) async fn nft_rows(&self) -> Result<Page<NftRow>, PageError> {
        let Page { items, total } = self.app.chain.list_held_nfts(self.address, self.page).await?;
        let names = self.names;
        let rows = items.iter().map(|held| NftRow {
            key: format!("{:#x}-{}", held.token, held.id),
            token: names.token_if_read(held.token, held.token_symbol.as_deref(), held.token_name.as_deref()),
            kind: names.token_kind(held.kind),
            id: nft_link(self.app, held.token, held.id),
            amount: Amount::of(held.amount, 0, ""),
        });
        Ok(Page { items: rows.collect(), total })
    }
}
