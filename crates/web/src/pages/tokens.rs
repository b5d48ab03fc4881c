use askama::Template;
use axum::{
    extract::{Query, State},
    response::Response,
};
use domain::{Address, Coverage, Token, TokenKind};

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{AddressLink, Amount, PageNames, Pager, Paging, TokenLine, TokenLink, counted, grouped, sanitize_name},
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
    supply: SupplyView,
    holders: String,
    transfers: String,
    contract: AddressLink,
}

/// The supply of a token.
pub(super) enum SupplyView {
    Known(Amount),
    Unknown,
    /// A sum over many ids is meaningless.
    ById,
}

impl SupplyView {
    pub(super) fn new(token: &Token, coverage: Coverage) -> Self {
        match (token.kind, token.total_supply(coverage)) {
            (TokenKind::Bep1155, _) => Self::ById,
            (TokenKind::Bep20 | TokenKind::Bep721, Some(supply)) => {
                Self::Known(Amount::of_token(supply, token.metadata.decimals))
            }
            (TokenKind::Bep20 | TokenKind::Bep721, None) => Self::Unknown,
        }
    }
}

impl TokenRow {
    fn new(token: &Token, coverage: Coverage, names: &PageNames) -> Self {
        let metadata = &token.metadata;
        Self {
            key: token.address,
            token: names.token(token.address, &metadata.symbol, &metadata.name),
            name: sanitize_name(&metadata.name),
            kind: names.token_kind(token.kind),
            supply: SupplyView::new(token, coverage),
            holders: grouped(token.holder_count),
            transfers: grouped(token.transfer_count),
            contract: names.address(token.address),
        }
    }
}

pub(super) async fn show(State(app): State<App>, Query(paging): Query<Paging>) -> Result<Response, PageError> {
    let names = &app.page_names();
    let listed = app.chain.list_tokens(paging.request()).await?;
    let coverage = app.chain.coverage().await?;
    if let Some(file) = paging.file() {
        let line =
            |token| TokenLine { token, kind: names.token_kind(token.kind), supply: token.total_supply(coverage) };
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
            tokens: listed.items.iter().map(|token| TokenRow::new(token, coverage, names)).collect(),
            pager,
        },
    )
    .await
}
