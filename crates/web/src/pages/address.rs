//! The page of an address: what is known about it, and one of its tabs.

mod account;
mod approvals;
mod balance;
mod contract;
mod credits;
mod filter;
mod internal;
mod logs;
mod nfts;
mod profile;
mod tab;
mod tab_counts;
mod tab_name;
mod tab_request;
mod tokens;
mod trades;
mod transactions;
mod transfers;
mod user_operations;

pub(super) use self::filter::fuzzing::list_filter;
use askama::Template;
use axum::{
    extract::{Path, Query, State},
    response::Response,
};
use contracts::has_user_operations;
use domain::Address;
use serde::Deserialize;

use self::{
    account::AccountView,
    approvals::Allowed,
    filter::{FilterFields, FilterView, ListFields},
    profile::Profile,
    tab::Tab,
    tab_counts::TabCounts,
    tab_name::TabName,
    tab_request::TabRequest,
};
use crate::{
    error::PageError,
    frame::{Frame, Section},
    server_address::ServerAddress,
    state::{App, WebState},
    view::{
        AddressLink, FieldValue, ImitationBanner, ListFile, Moment, Pager, Paging, TokenLink, TransactionLink, grouped,
    },
};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    tab: Option<String>,
    /// With any value, transfers that imitate counterparties are shown.
    #[serde(default)]
    lookalikes: Option<String>,
    #[serde(flatten)]
    filter: FilterFields,
    #[serde(flatten)]
    paging: Paging,
}

#[derive(Template)]
#[template(path = "address.html")]
struct AddressPage {
    frame: Frame,
    address: String,
    label: Option<String>,
    kind: &'static str,
    /// None if the node is unavailable and no account is stored.
    account: Option<AccountView>,
    tx_count: String,
    /// None if no indexed block contains the address.
    seen: Option<Seen>,
    counts: TabCounts,
    /// Whether anybody uses them on this chain: how many the account has is counted only where they are listed, since the lists of
    /// a busy account and of an entry point are both long.
    has_user_operations: bool,
    token: Option<TokenLink>,
    imitation: Option<ImitationBanner>,
    /// The name in the verified source.
    source: Option<String>,
    is_code_known: bool,
    creator: Option<AddressLink>,
    creation: Option<TransactionLink>,
    is_contract: bool,
    name: TabName,
    tab: Tab,
    /// None for tabs without filters.
    filter: Option<FilterView>,
    /// The path and the query of this page; empty for tabs without a list.
    here: String,
    /// None for tabs without a list.
    pager: Option<Pager>,
}

struct Seen {
    first: Moment,
    last: Moment,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(address): Path<String>,
    Query(params): Query<Params>,
) -> Result<Response, PageError> {
    let Ok(address) = address.parse::<Address>() else {
        return app.not_an_address().await;
    };
    let names = &app.page_names().about(address);
    let tab_name = TabName::parse(params.tab.as_deref().unwrap_or_default());
    let (filter, filter_error) = match params.filter.parse(address) {
        Ok(filter) => (Some(filter.resolve(&*app.chain).await?), None),
        Err(error) => (None, Some(error)),
    };
    let request = TabRequest {
        app: &app,
        address,
        filter,
        token: params.filter.token(),
        page: params.paging.request(),
        shows_lookalikes: params.lookalikes.is_some(),
        server: &ServerAddress::new(app.site_url.as_deref(), app.listens),
        names,
    };
    if let Some(file) = params.paging.file() {
        return match filter_error {
            Some(error) => app.not_found("No such list", error).await,
            None => list_file(&request, tab_name, file).await,
        };
    }
    let filter = tab_name.and_then(TabName::filter_fields).map(|fields| params.filter.view(fields, filter_error));
    let name = tab_name.unwrap_or_default();
    let profile = Profile::read(&app, address).await?;
    let counts = TabCounts::read(&app, address, profile.overview.as_ref()).await?;
    let (tab, total) = request.read(name).await?;
    let pager = total.map(|total| params.pager(name, address, total));
    let account = profile.account_view(&app, names).await;
    let creation = profile.creation();
    let page = AddressPage {
        frame: page_frame(&app, &params, &profile, name, pager.as_ref())
            .await
            .described(profile.description(account.as_ref(), names)),
        address: address.to_checksum(None),
        kind: profile.kind(),
        account,
        tx_count: grouped(profile.tx_count()),
        seen: profile
            .summary()
            .map(|summary| Seen { first: Moment::of(summary.first_seen), last: Moment::of(summary.last_seen) }),
        counts,
        has_user_operations: has_user_operations(&*app.chain).await?,
        token: profile.token().map(|token| names.token(address, &token.metadata.symbol, &token.metadata.name)),
        is_code_known: profile.code_hash.is_some(),
        creator: creation.map(|creation| names.address(creation.creator)),
        creation: creation.map(|creation| TransactionLink::new(creation.tx_hash)),
        is_contract: profile.is_contract,
        label: profile.label,
        imitation: profile.imitation,
        source: profile.verified_name,
        name,
        tab,
        filter,
        here: pager.as_ref().map(Pager::address).unwrap_or_default(),
        pager,
    };
    app.page(names, &page).await
}

async fn list_file(request: &TabRequest<'_>, name: Option<TabName>, file: ListFile) -> Result<Response, PageError> {
    match request.write_file(name, file).await? {
        Some(file) => Ok(file),
        None => request.app.not_found("No such file", "This list is not offered as a file.").await,
    }
}

/// Title, and how search engines list the page.
async fn page_frame(app: &WebState, params: &Params, profile: &Profile, name: TabName, pager: Option<&Pager>) -> Frame {
    let frame = app.frame(profile.title(), Section::None).await;
    let frame = match pager {
        Some(pager) => frame.at_page(pager),
        None => frame.at(format!("/address/{}?tab={}", profile.address.to_checksum(None), name.text())),
    };
    frame
        .live_if(params.paging.is_first() && name.is_list())
        .unlisted_if(params.filter.is_set() || params.lookalikes.is_some() || !profile.is_used())
}

impl Params {
    fn pager(&self, name: TabName, address: Address, total: u64) -> Pager {
        let shown = if self.lookalikes.is_some() { "&lookalikes=shown" } else { "" };
        let path = name.path(&address.to_checksum(None), &format!("{}{shown}", self.filter.query()));
        let pager = self.paging.pager(path, total);
        if name.has_file() { pager.with_files() } else { pager }
    }
}
