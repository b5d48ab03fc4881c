use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use domain::{Address, Balance, BalanceSource, Holder, Token, TokenKind, TransferFilter};
use serde::Deserialize;

use super::App;
use crate::{
    error::PageError,
    frame::{Frame, Section},
    page_names::PageNames,
    view::{
        AddressLink, Amount, BlockLink, NftLink, Pager, Paging, TransferRow, counted, grouped, sanitize_name, short,
    },
};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    tab: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Template)]
#[template(path = "token.html")]
struct TokenPage {
    frame: Frame,
    address: String,
    name: String,
    symbol: String,
    kind: &'static str,
    has_ids: bool,
    supply: Option<Amount>,
    decimals: Option<u8>,
    holders: String,
    transfers: String,
    contract: AddressLink,
    balances_from_contract: bool,
    audited: Option<BlockLink>,
    tab: Tab,
    pager: Pager,
}

enum Tab {
    Transfers(Vec<TransferRow>),
    Holders(Vec<HolderRow>),
    Inventory(Vec<NftRow>),
}

impl Tab {
    fn is(&self, name: &str) -> bool {
        let own_name = match self {
            Self::Transfers(_) => "transfers",
            Self::Holders(_) => "holders",
            Self::Inventory(_) => "inventory",
        };
        own_name == name
    }
}

struct NftRow {
    key: String,
    id: NftLink,
    /// None for an id that many can hold, or that was burned.
    owner: Option<AddressLink>,
    holders: String,
    transfers: String,
}

struct HolderRow {
    key: Address,
    rank: u64,
    address: AddressLink,
    balance: Amount,
    share: Option<String>,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(address): Path<String>,
    Query(params): Query<Params>,
) -> Result<Response, PageError> {
    let names = &app.page_names();
    let Ok(address) = address.parse() else {
        return app.not_found("Not an address", "The address of a token is 0x and 40 hexadecimal digits.").await;
    };
    let Some(token) = app.chain.find_token(address).await? else {
        return app.not_found("No such token", "No transfer of a token at this address has been indexed.").await;
    };
    let path = format!("/token/{}", token.address.to_checksum(None));
    let request = params.paging.request();
    let (tab, pager) = if params.tab.as_deref() == Some("inventory") {
        let listed = app.chain.list_nfts(token.address, request).await?.unwrap_or(domain::Page::empty(0));
        let rows = listed.items.iter().map(|nft| NftRow {
            key: nft.id.to_string(),
            id: app.nft_link(nft.token, nft.id),
            owner: nft.owner.map(|owner| names.address(owner)),
            holders: grouped(nft.holder_count),
            transfers: grouped(nft.transfer_count),
        });
        (Tab::Inventory(rows.collect()), params.paging.pager(format!("{path}?tab=inventory"), listed.total))
    } else if params.tab.as_deref() == Some("holders") {
        let listed = app.chain.list_holders(token.address, request).await?.unwrap_or(domain::Page::empty(0));
        let rows =
            listed.items.iter().zip(request.offset + 1..).map(|(holder, rank)| holder_row(&token, holder, rank, names));
        (Tab::Holders(rows.collect()), params.paging.pager(format!("{path}?tab=holders"), listed.total))
    } else {
        let filter = TransferFilter { token: Some(token.address), ..TransferFilter::default() };
        let listed = app.chain.list_transfers(&filter, request).await?;
        let rows = listed.items.iter().map(|transfer| TransferRow::new(transfer, names));
        (Tab::Transfers(rows.collect()), params.paging.pager(path, listed.total))
    };
    let metadata = &token.metadata;
    let (name, symbol) = (sanitize_name(&metadata.name), sanitize_name(&metadata.symbol));
    let address = token.address.to_checksum(None);
    let title = [&name, &symbol].into_iter().find(|text| !text.is_empty()).cloned();
    let title = title.unwrap_or_else(|| short(&address));
    let kind = names.token_kind(token.kind);
    let description = format!(
        "{title}{}: {kind} token on {} with {} and {}, contract {address}.",
        if symbol.is_empty() || symbol == title { String::new() } else { format!(" ({symbol})") },
        names.chain,
        counted(token.holder_count, "holder"),
        counted(token.transfer_count, "transfer"),
    );
    let title = format!("Token {title}");
    app.page(
        names,
        &TokenPage {
            frame: app
                .frame(title, Section::Tokens)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(params.paging.is_first()),
            address,
            name,
            symbol,
            kind,
            has_ids: token.kind != TokenKind::Bep20,
            supply: (token.kind != TokenKind::Bep1155)
                .then(|| Amount::of(metadata.total_supply, metadata.decimals, "")),
            decimals: (token.kind == TokenKind::Bep20).then_some(metadata.decimals),
            holders: grouped(token.holder_count),
            transfers: grouped(token.transfer_count),
            contract: AddressLink::bare(token.address),
            balances_from_contract: token.balance_source == BalanceSource::Calls,
            audited: token.audited_block.map(BlockLink::new),
            tab,
            pager,
        },
    )
    .await
}

fn holder_row(token: &Token, holder: &Holder, rank: u64, names: &PageNames) -> HolderRow {
    HolderRow {
        key: holder.address,
        rank,
        address: names.address(holder.address),
        balance: Amount::of(holder.balance, token.metadata.decimals, ""),
        share: share(holder.balance, Balance::from(token.metadata.total_supply)),
    }
}

/// The percentage of the supply. None if the supply is unknown or less than the balance.
fn share(balance: Balance, supply: Balance) -> Option<String> {
    if supply.is_zero() || balance > supply {
        return None;
    }
    let hundredths = u64::try_from(balance.checked_mul(Balance::from(10_000))?.checked_div(supply)?).ok()?;
    Some(format!("{}.{:02} %", hundredths / 100, hundredths % 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage() {
        assert_eq!(share(Balance::from(1), Balance::from(3)).as_deref(), Some("33.33 %"));
        assert_eq!(share(Balance::from(3), Balance::from(3)).as_deref(), Some("100.00 %"));
        assert_eq!(share(Balance::from(1), Balance::from(1_000_000)).as_deref(), Some("0.00 %"));
    }

    #[test]
    fn there_is_no_share_without_a_plausible_supply() {
        assert_eq!(share(Balance::from(1), Balance::ZERO), None);
        assert_eq!(share(Balance::from(2), Balance::from(1)), None);
    }
}
