use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::{Address, Token, TokenKind};

use super::App;
use crate::{
    error::PageError,
    frame::{Frame, Section},
    page_names::PageNames,
    view::{AddressLink, Amount, Pager, Paging, TokenLine, TokenLink, counted, grouped, sanitize_name},
};

#[derive(Template)]
#[template(path = "tokens.html")]
struct Tokens {
    frame: Frame,
    tokens: Vec<TokenRow>,
    pager: Pager,
}

struct TokenRow {
    key: Address,
    token: TokenLink,
    name: String,
    kind: &'static str,
    supply: Option<Amount>,
    holders: String,
    transfers: String,
    contract: AddressLink,
}

impl TokenRow {
    fn new(token: &Token, names: &PageNames) -> Self {
        let metadata = &token.metadata;
        Self {
            key: token.address,
            token: names.token(token.address, &metadata.symbol, &metadata.name),
            name: sanitize_name(&metadata.name),
            kind: names.token_kind(token.kind),
            // A sum over many ids is meaningless.
            supply: (token.kind != TokenKind::Bep1155)
                .then(|| Amount::of(metadata.total_supply, metadata.decimals, "")),
            holders: grouped(token.holder_count),
            transfers: grouped(token.transfer_count),
            contract: names.address(token.address),
        }
    }
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let listed = app.chain.list_tokens(paging.request()).await?;
    if let Some(file) = paging.file() {
        let line = |token| TokenLine { token, kind: names.token_kind(token.kind) };
        return Ok(file.of("tokens", &listed.items.iter().map(line).collect::<Vec<_>>()));
    }
    let pager = paging.pager("/tokens", listed.total).with_files();
    let description = format!(
        "Tokens on {} by number of holders: {} with their type, supply, holders and transfers.",
        names.chain,
        counted(listed.total, "token")
    );
    app.page(
        names,
        &Tokens {
            frame: app
                .frame("Tokens", Section::Tokens)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(paging.is_first()),
            tokens: listed.items.iter().map(|token| TokenRow::new(token, names)).collect(),
            pager,
        },
    )
    .await
}
