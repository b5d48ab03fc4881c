use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use domain::{Address, BalanceSource, Holder, Page, PageRequest, Token, TokenKind, TransferFilter};
use serde::Deserialize;

use super::{
    holder_shares::{CHARTED, Supply},
    nft::metadata::nft_link,
    tokens::SupplyView,
};
use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::{App, WebState},
    view::{
        AddressLink, Amount, BlockLink, Chart, HolderLine, ImitationBanner, ListFile, NftLink, PageNames, Pager,
        Paging, TransferRow, counted, grouped, sanitize_name, short,
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
    supply: SupplyView,
    /// None for tokens with ids.
    decimals: Option<String>,
    holders: String,
    transfers: String,
    contract: AddressLink,
    imitation: Option<ImitationBanner>,
    balances_from_contract: bool,
    audited: Option<BlockLink>,
    tab: Tab,
    pager: Pager,
}

enum Tab {
    Transfers(Vec<TransferRow>),
    /// With a chart of their shares, if the supply is known.
    Holders(Vec<HolderRow>, Option<Chart>),
    Inventory(Vec<NftRow>),
}

impl Tab {
    fn is(&self, name: &str) -> bool {
        let own_name = match self {
            Self::Transfers(_) => "transfers",
            Self::Holders(..) => "holders",
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
    if let Some(file) = params.paging.file() {
        return export_token(&app, file, &token, &params).await;
    }
    let (tab, pager) = read_tab(&app, &token, &params, names).await?;
    let metadata = &token.metadata;
    let imitated = app.imitations.find(token.address, &metadata.symbol, &metadata.name).await?;
    let own_names = (metadata.symbol.as_str(), metadata.name.as_str());
    let imitation = imitated.map(|original| ImitationBanner::new(&original, own_names, token.holder_count));
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
            supply: SupplyView::new(&token, app.chain.coverage().await?),
            decimals: match (token.kind, metadata.decimals) {
                (TokenKind::Bep20, Some(decimals)) => Some(decimals.to_string()),
                (TokenKind::Bep20, None) => Some("unknown".to_owned()),
                (TokenKind::Bep721 | TokenKind::Bep1155, _) => None,
            },
            holders: grouped(token.holder_count),
            transfers: grouped(token.transfer_count),
            contract: AddressLink::without_name(token.address),
            imitation,
            balances_from_contract: token.balance_source == BalanceSource::Calls,
            audited: token.audited_block.map(BlockLink::new),
            tab,
            pager,
        },
    )
    .await
}

async fn read_tab(
    app: &WebState,
    token: &Token,
    params: &Params,
    names: &PageNames,
) -> Result<(Tab, Pager), PageError> {
    let path = format!("/token/{}", token.address.to_checksum(None));
    let request = params.paging.request();
    Ok(if params.tab.as_deref() == Some("inventory") {
        let listed = app.chain.list_nfts(token.address, request).await?.unwrap_or(domain::Page::empty(0));
        let rows = listed.items.iter().map(|nft| NftRow {
            key: nft.id.to_string(),
            id: nft_link(app, nft.token, nft.id),
            owner: nft.owner.map(|owner| names.address(owner)),
            holders: grouped(nft.holder_count),
            transfers: grouped(nft.transfer_count),
        });
        (Tab::Inventory(rows.collect()), params.paging.pager(format!("{path}?tab=inventory"), listed.total))
    } else if params.tab.as_deref() == Some("holders") {
        let Holders { listed, largest, supply } = token_holders(app, token, request).await?;
        let ranked = listed.items.iter().zip(request.offset.saturating_add(1)..);
        let rows = ranked.map(|(holder, rank)| holder_row(token, supply, holder, rank, names));
        let chart = supply.and_then(|supply| supply.chart(&largest, names));
        let pager = params.paging.pager(format!("{path}?tab=holders"), listed.total).with_files();
        (Tab::Holders(rows.collect(), chart), pager)
    } else {
        let listed = app.chain.list_transfers(&transfers_of(token), request).await?;
        let rows = listed.items.iter().map(|transfer| TransferRow::new(transfer, names));
        (Tab::Transfers(rows.collect()), params.paging.pager(path, listed.total).with_files())
    })
}

/// A page of the holders of a token.
struct Holders {
    listed: Page<Holder>,
    largest: Vec<Holder>,
    supply: Option<Supply>,
}

async fn token_holders(app: &WebState, token: &Token, request: PageRequest) -> Result<Holders, PageError> {
    let list = async |request| app.chain.list_holders(token.address, request).await;
    let listed = list(request).await?.unwrap_or(Page::empty(0));
    let largest = list(PageRequest::newest(CHARTED)).await?.unwrap_or(Page::empty(0)).items;
    let supply = Supply::of(token, app.chain.coverage().await?, [&largest, &listed.items]);
    Ok(Holders { listed, largest, supply })
}

/// The page of a list as a file.
async fn export_token(app: &WebState, file: ListFile, token: &Token, params: &Params) -> Result<Response, PageError> {
    let request = params.paging.request();
    Ok(match params.tab.as_deref() {
        Some("holders") => {
            let Holders { listed, supply, .. } = token_holders(app, token, request).await?;
            let line = |(holder, rank): (&Holder, u64)| HolderLine {
                rank,
                address: holder.address,
                balance: holder.balance,
                decimals: token.metadata.decimals,
                share: supply.and_then(|supply| supply.share(holder.balance)),
            };
            let lines: Vec<_> = listed.items.iter().zip(request.offset.saturating_add(1)..).map(line).collect();
            file.of(&format!("holders-{:#x}", token.address), &lines)
        }
        Some("inventory") => {
            return app.not_found("No such file", "This list has no file for spreadsheets.").await;
        }
        _ => {
            let listed = app.chain.list_transfers(&transfers_of(token), request).await?;
            file.of(&format!("transfers-{:#x}", token.address), &listed.items)
        }
    })
}

fn transfers_of(token: &Token) -> TransferFilter {
    TransferFilter { token: Some(token.address), ..TransferFilter::default() }
}

fn holder_row(token: &Token, supply: Option<Supply>, holder: &Holder, rank: u64, names: &PageNames) -> HolderRow {
    HolderRow {
        key: holder.address,
        rank,
        address: names.address(holder.address),
        balance: Amount::of_token(holder.balance, token.metadata.decimals),
        share: supply.and_then(|supply| supply.share(holder.balance)),
    }
}
