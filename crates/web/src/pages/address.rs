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
mod tab;
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
use domain::{Address, CreditClass, CreditFilter, InternalFilter, PageRequest};
use serde::Deserialize;

use self::{
    account::AccountView,
    approvals::Allowed,
    filter::{FilterFields, FilterView, ListFields},
    tab::Tab,
    tab_name::TabName,
    tab_request::TabRequest,
};
use crate::{
    account::{find_account, find_delegation_start, find_unindexed_account},
    error::PageError,
    frame::{Frame, Section},
    server_address::ServerAddress,
    state::App,
    view::{
        AddressLink, FieldValue, ImitationBanner, Moment, Pager, Paging, TokenLink, TransactionLink, counted, grouped,
        sanitize_name, short,
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
    transfer_count: String,
    trade_count: String,
    internal_count: String,
    log_count: String,
    withdrawal_count: String,
    reward_count: String,
    /// Whether anybody uses them on this chain: how many the account has is counted only where they are listed, since the lists of
    /// a busy account and of an entry point are both long.
    has_user_operations: bool,
    token: Option<TokenLink>,
    imitation: Option<ImitationBanner>,
    /// The name in the verified source.
    source: Option<String>,
    /// False if the code is not known: then neither is whether its source is verified.
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
    let name = TabName::parse(params.tab.as_deref().unwrap_or_default());
    let (filter, filter_error) = match params.filter.parse(address) {
        Ok(filter) => (Some(filter.resolve(&*app.chain).await?), None),
        Err(error) => (None, Some(error)),
    };
    let filter_view =
        name.and_then(TabName::filter_fields).map(|fields| params.filter.view(fields, filter_error.clone()));
    let request = TabRequest {
        app: &app,
        address,
        filter,
        token: params.filter.token(),
        page: params.paging.request(),
        shows_all: params.lookalikes.is_some(),
        server: &ServerAddress::new(app.site_url.as_deref(), app.listens),
        names,
    };
    if let Some(file) = params.paging.file() {
        if let Some(error) = filter_error {
            return app.not_found("No such list", error).await;
        }
        return match request.write_file(name, file).await? {
            Some(file) => Ok(file),
            None => app.not_found("No such file", "This list is not offered as a file.").await,
        };
    }
    let overview = app.chain.find_address_overview(address, 0).await?;
    let account = match overview {
        Some(_) => find_account(&app, address).await,
        None => find_unindexed_account(&app, address).await,
    };
    let (transfer_count, trade_count) =
        overview.as_ref().map(|overview| (overview.transfer_count, overview.trade_count)).unwrap_or_default();
    let log_count = overview.as_ref().map_or(0, |overview| overview.log_count);
    let count = async |class| {
        Ok::<_, PageError>(
            app.chain.list_credits(&CreditFilter::of(address, class), PageRequest::newest(0)).await?.total,
        )
    };
    let withdrawal_count = count(CreditClass::Withdrawals).await?;
    let reward_count = count(CreditClass::Issuances).await?;
    let (internal_count, traced_range) = match &overview {
        Some(overview) => (overview.internal_tx_count, overview.traced_range),
        None => {
            let filter = InternalFilter::touching(address);
            let found = app.chain.list_internal_transactions(&filter, PageRequest::newest(0)).await?;
            (found.page.total, found.traced_range)
        }
    };
    // Without traces, how many there are is not known.
    let internal_count = traced_range.map_or_else(|| "?".to_owned(), |_| grouped(internal_count));
    let (summary, token) = overview.map(|overview| (overview.summary, overview.token)).unzip();
    let (creation, token) = (summary.as_ref().and_then(|summary| summary.creation), token.flatten());
    let full = address.to_checksum(None);
    let name = name.unwrap_or_default();
    let (tab, total) = request.read(name).await?;
    let pager = total.map(|total| {
        let shown = if params.lookalikes.is_some() { "&lookalikes=shown" } else { "" };
        let pager = params.paging.pager(name.path(&full, &format!("{}{shown}", params.filter.query())), total);
        if name.has_file() { pager.with_files() } else { pager }
    });
    let (is_contract, code_hash) = match &account {
        Some(account) => (account.code.is_contract(), account.code.hash()),
        // What the index knows: where it has read code, or seen a creation.
        None => {
            let code_hash = app.chain.find_code_hash(address).await?;
            (creation.is_some() || code_hash.is_some(), code_hash)
        }
    };
    let verified = match code_hash {
        Some(hash) => app.verified.find_verified_summary(address, hash).await?,
        None => None,
    };
    let imitation = match &token {
        Some(token) => {
            let own_names = (token.metadata.symbol.as_str(), token.metadata.name.as_str());
            let imitated = app.imitations.find(address, own_names.0, own_names.1).await?;
            imitated.map(|original| ImitationBanner::new(&original, own_names, token.holder_count))
        }
        None => None,
    };
    let source = verified.as_ref().map(|summary| sanitize_name(&summary.name));
    let label = app.names.label(&address).as_deref().map(sanitize_name);
    let label = label
        .or_else(|| token.as_ref().map(|token| sanitize_name(&token.metadata.name)).filter(|name| !name.is_empty()))
        .or_else(|| verified.map(|summary| sanitize_name(&summary.name)));
    let kind = if is_contract { "Contract" } else { "Address" };
    let title = match &label {
        Some(label) => format!("{kind} {label} {}", short(&full)),
        None => format!("{kind} {}", short(&full)),
    };
    let is_live = params.paging.is_first() && name.is_list();
    let tx_count = summary.as_ref().map_or(0, |summary| summary.tx_count);
    let mut description = format!("{kind} {full} on {}", names.chain);
    if let Some(label) = &label {
        description = format!("{description}, {label}");
    }
    description = format!(
        "{description}: {} and {}",
        counted(tx_count, "transaction"),
        counted(transfer_count, "token transfer")
    );
    let account = match account {
        Some(account) => {
            let delegates_since = find_delegation_start(&app, address, &account).await;
            Some(AccountView::new(&account, delegates_since, names))
        }
        None => None,
    };
    if let Some(account) = &account {
        description = format!("{description}, balance {}", account.balance.shown());
    }
    let frame = app.frame(title, Section::None).await.described(format!("{description}.")).live_if(is_live);
    let frame = match &pager {
        Some(pager) => frame.at_page(pager),
        None => frame.at(format!("/address/{full}?tab={}", name.text())),
    };
    // Every address has a page, also one that nobody uses.
    let frame =
        frame.unlisted_if(params.filter.is_set() || params.lookalikes.is_some() || (summary.is_none() && !is_contract));
    app.page(
        names,
        &AddressPage {
            frame,
            label,
            kind,
            is_contract,
            account,
            tx_count: grouped(tx_count),
            seen: summary
                .map(|summary| Seen { first: Moment::of(summary.first_seen), last: Moment::of(summary.last_seen) }),
            transfer_count: grouped(transfer_count),
            trade_count: grouped(trade_count),
            internal_count,
            log_count: grouped(log_count),
            withdrawal_count: grouped(withdrawal_count),
            reward_count: grouped(reward_count),
            has_user_operations: has_user_operations(&*app.chain).await?,
            token: token.map(|token| names.token(address, &token.metadata.symbol, &token.metadata.name)),
            imitation,
            source,
            is_code_known: code_hash.is_some(),
            creator: creation.map(|creation| names.address(creation.creator)),
            creation: creation.map(|creation| TransactionLink::new(creation.tx_hash)),
            address: full,
            name,
            tab,
            filter: filter_view,
            here: pager.as_ref().map(Pager::address).unwrap_or_default(),
            pager,
        },
    )
    .await
}
