mod id;
pub(super) mod metadata;

use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use domain::{Address, Page};
use serde::Deserialize;

use self::{
    id::parse_id,
    metadata::{MetadataView, show_metadata},
};

use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::App,
    view::{AddressLink, Amount, Pager, Paging, TokenLink, TransferRow, counted, grouped, sanitize_name, short},
};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    tab: Option<String>,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Template)]
#[template(path = "nft.html")]
struct NftPage {
    frame: Frame,
    name: String,
    address: String,
    id: String,
    token: TokenLink,
    contract: AddressLink,
    kind: &'static str,
    /// None for an id that many can hold.
    owner: Option<Owner>,
    holders: String,
    transfers: String,
    metadata: Option<MetadataView>,
    tab: Tab,
    pager: Pager,
}

enum Owner {
    Address(AddressLink),
    Burned,
}

enum Tab {
    Transfers(Vec<TransferRow>),
    Holders(Vec<HolderRow>),
}

impl Tab {
    fn is_holders(&self) -> bool {
        match self {
            Self::Holders(_) => true,
            Self::Transfers(_) => false,
        }
    }
}

struct HolderRow {
    key: Address,
    rank: u64,
    address: AddressLink,
    amount: Amount,
}

/// The page of one id of a token.
pub(super) async fn show(
    State(app): State<App>,
    Path((address, id)): Path<(String, String)>,
    Query(params): Query<Params>,
) -> Result<Response, PageError> {
    let names = &app.page_names();
    let (Ok(address), Some(id)) = (address.parse::<Address>(), parse_id(&id)) else {
        return app
            .not_found("Not a token id", "The URL has the address of a token and one of its ids, a whole number.")
            .await;
    };
    let (token, nft) = (app.chain.find_token(address).await?, app.chain.find_nft(address, id).await?);
    let (Some(token), Some(nft)) = (token, nft) else {
        return app.not_found("No such token id", "No transfer of this id of a token has been indexed.").await;
    };
    let (full, request) = (address.to_checksum(None), params.paging.request());
    let path = format!("/token/{full}/{id}");
    let (tab, pager) = if params.tab.as_deref() == Some("holders") {
        let listed = app.chain.list_nft_holders(address, id, request).await?.unwrap_or(Page::empty(0));
        let rows = listed.items.iter().zip(request.offset + 1..).map(|(holder, rank)| HolderRow {
            key: holder.address,
            rank,
            address: names.address(holder.address),
            amount: Amount::of(holder.balance, 0, ""),
        });
        (Tab::Holders(rows.collect()), params.paging.pager(format!("{path}?tab=holders"), listed.total))
    } else {
        let listed = app.chain.list_nft_transfers(address, id, request).await?.unwrap_or(Page::empty(0));
        let rows = listed.items.iter().map(|transfer| TransferRow::new(transfer, names));
        (Tab::Transfers(rows.collect()), params.paging.pager(path, listed.total))
    };
    let metadata = &token.metadata;
    let name =
        [sanitize_name(&metadata.name), sanitize_name(&metadata.symbol)].into_iter().find(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| short(&full));
    let owner = match nft.owner {
        Some(owner) => Some(Owner::Address(names.address(owner))),
        None => (nft.kind == domain::TokenKind::Bep721).then_some(Owner::Burned),
    };
    let kind = names.token_kind(nft.kind);
    let description = format!(
        "{name} #{}: id of a token of type {kind} on {} with {} and {}.",
        short(&id.to_string()),
        names.chain,
        counted(nft.holder_count, "holder"),
        counted(nft.transfer_count, "transfer"),
    );
    app.page(
        names,
        &NftPage {
            frame: app
                .frame(format!("{name} #{}", short(&id.to_string())), Section::Tokens)
                .await
                .described(description)
                .at_page(&pager)
                .live_if(params.paging.is_first()),
            name,
            id: id.to_string(),
            token: names.token(address, &metadata.symbol, &metadata.name),
            contract: AddressLink::without_name(address),
            kind,
            owner,
            holders: grouped(nft.holder_count),
            transfers: grouped(nft.transfer_count),
            metadata: show_metadata(&app, &nft).await?,
            address: full,
            tab,
            pager,
        },
    )
    .await
}
