//! The page of a transaction.

mod authorizations;
mod blobs;
mod call;
mod detail;
mod events;
mod failure;
mod fee;
mod interfaces;
mod internal;
mod logs;
mod moved;
mod operations;
mod summary;

use alloy_primitives::hex;
use askama::Template;
use axum::{
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use domain::{Outcome, Transaction};
use serde::Deserialize;

use self::{
    call::{CalledFunction, is_message},
    detail::{Detail, find_detail},
    events::Events,
    failure::{Failure, find_failure},
    fee::FeeView,
    interfaces::TransactionInterfaces,
    internal::{Internal, InternalView},
    logs::LogChoice,
    moved::MovedView,
    operations::{OperationsView, operations_view},
    summary::{Phrase, SummaryInput},
};
use super::pending::show_unindexed;
use crate::{
    error::PageError,
    frame::{Frame, Section},
    state::{App, WebState},
    view::{AddressLink, Amount, BlockLink, FieldValue, Moment, PageNames, TradeRow, counted, grouped, short},
};

#[derive(Template)]
#[template(path = "transaction.html")]
struct TransactionPage {
    frame: Frame,
    hash: String,
    summary: Vec<Phrase>,
    outcome: &'static str,
    failure: Option<Failure>,
    block: BlockLink,
    /// None if the newest block is not known.
    confirmations: Option<String>,
    time: Moment,
    from: AddressLink,
    to: Option<AddressLink>,
    created: Option<AddressLink>,
    /// The value, and why it is not among what moved.
    unpaid: Option<(Amount, &'static str)>,
    fee: FeeView,
    gas_used: String,
    nonce: String,
    index: u32,
    method: String,
    moved: MovedView,
    /// Whether the calls of the transaction are known, and so what was paid in them.
    is_traced: bool,
    internal: InternalView,
    is_internal_open: bool,
    trades: Vec<TradeRow>,
    operations: Option<OperationsView>,
    detail: Option<Detail>,
}

/// Which pages of its lists are shown.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Params {
    #[serde(default)]
    moved: Option<String>,
    #[serde(default)]
    internal: Option<String>,
    #[serde(default)]
    operations: Option<String>,
    #[serde(flatten)]
    logs: LogChoice,
}

pub(super) async fn show(
    State(app): State<App>,
    Path(hash): Path<String>,
    Query(params): Query<Params>,
) -> Result<Response, PageError> {
    let names = &app.page_names();
    let Ok(hash) = hash.parse() else {
        return app.not_a_transaction_hash().await;
    };
    let Some(tx) = app.chain.find_transaction(hash).await? else {
        return show_unindexed(&app, hash).await;
    };
    let path = format!("/tx/{:#x}", tx.hash);
    let events = Events::read(&app, &tx, params.moved.as_deref()).await?;
    let internal = Internal::read(&app, &tx, params.internal.as_deref()).await?;
    let operations = operations_view(&app, &tx, &path, params.operations.as_deref(), names).await?;
    let detail = find_detail(&app, &tx).await;
    let detail = detail.as_deref();
    let logs = params.logs.choose(detail.map(|detail| detail.logs.as_slice()).unwrap_or_default());
    let is_message = is_message(&app, &tx).await?;
    let interfaces = TransactionInterfaces::find(&app, &tx, &logs).await?;
    let call = CalledFunction::find(&app, &tx, detail, is_message, &interfaces).await?;
    let failure = find_failure(&app, &tx, detail, &interfaces).await;
    let Some(fee) = FeeView::read(&app, &tx, names).await? else {
        return show_unindexed(&app, hash).await;
    };
    let summary = SummaryInput {
        tx: &tx,
        method: &call.method,
        is_message,
        call: call.decoded.as_ref().map(|call| &call.decoded),
        token: call.token.as_ref(),
        transfers: &events.transfers.items,
        transfer_count: events.transfers.total,
        trades: &events.trades.items,
        trade_count: events.trades.total,
        authorizations: detail.and_then(|detail| detail.authorizations.as_deref()).unwrap_or_default(),
        names,
    };
    let page = TransactionPage {
        frame: page_frame(&app, &params, &tx, &path).await.described(description(&tx, &call.method, names)),
        hash: format!("{:#x}", tx.hash),
        summary: summary.summary(),
        outcome: tx.outcome().name(),
        failure,
        block: BlockLink::new(tx.block_number),
        confirmations: confirmations(&app, &tx),
        time: Moment::of(tx.timestamp),
        from: names.address(tx.from),
        to: tx.to.map(|to| names.address(to)),
        created: tx.created.map(|created| names.address(created)),
        unpaid: unpaid_value(&tx, names),
        fee,
        gas_used: grouped(tx.gas_used),
        nonce: grouped(tx.nonce),
        index: tx.index,
        moved: MovedView::new(&tx, &events, &internal.listed.items, &path, names),
        is_traced: internal.is_traced(&tx),
        is_internal_open: params.internal.is_some(),
        internal: internal.view(&path, names),
        trades: events.trades.items.iter().map(|trade| TradeRow::new(trade, names)).collect(),
        operations,
        detail: detail.map(|detail| {
            let logs = logs.view(&path, |address| interfaces.of(address), names);
            Detail::new(&tx, detail, &call, logs, names)
        }),
        method: call.method,
    };
    app.page(names, &page).await
}

/// Title, and how search engines list the page.
async fn page_frame(app: &WebState, params: &Params, tx: &Transaction, path: &str) -> Frame {
    app.frame(format!("Transaction {}", short(&format!("{:#x}", tx.hash))), Section::Transactions)
        .await
        .at(path)
        .unlisted_if(params.is_set())
        .live_if(!app.is_final(tx.block_number))
}

/// The page in a sentence, for search engines and previews of links.
fn description(tx: &Transaction, method: &str, names: &PageNames) -> String {
    let outcome = match tx.outcome() {
        Outcome::Succeeded => "Successful",
        Outcome::Failed => "Failed",
        Outcome::Unknown => "A",
    };
    let receiver =
        tx.to.map_or_else(|| "creating a contract".to_owned(), |to| format!("to {}", short(&to.to_checksum(None))));
    format!(
        "{outcome} transaction on {} in block {} at {}: {method} from {} {receiver}, value {}.",
        names.chain,
        grouped(tx.block_number),
        Moment::of(tx.timestamp).exact(),
        short(&tx.from.to_checksum(None)),
        names.coin(tx.value).shown(),
    )
}

/// None if the newest block is not known.
fn confirmations(app: &WebState, tx: &Transaction) -> Option<String> {
    let tip = app.sync.borrow().tip?.number;
    Some(counted(tip.saturating_sub(tx.block_number) + 1, "confirmation"))
}

/// The value, and why it is not among what moved; None if it is.
fn unpaid_value(tx: &Transaction, names: &PageNames) -> Option<(Amount, &'static str)> {
    let note = match tx.outcome() {
        Outcome::Succeeded => return None,
        Outcome::Failed => "stayed with the sender",
        Outcome::Unknown => "if the transaction succeeded",
    };
    (!tx.value.is_zero()).then(|| (names.coin(tx.value), note))
}

impl Params {
    fn is_set(&self) -> bool {
        self.moved.is_some() || self.internal.is_some() || self.operations.is_some() || self.logs.is_set()
    }
}

/// The complete input as text: the page shows only the start of a long one.
pub(super) async fn show_input(State(app): State<App>, Path(hash): Path<String>) -> Result<Response, PageError> {
    let Ok(hash) = hash.parse() else {
        return app.not_a_transaction_hash().await;
    };
    let Some(tx) = app.chain.find_transaction(hash).await? else {
        return app.not_found("No such transaction", "Its input is available once it is in an indexed block.").await;
    };
    match find_detail(&app, &tx).await {
        Some(detail) => Ok(hex::encode_prefixed(&detail.input).into_response()),
        None => Ok((StatusCode::SERVICE_UNAVAILABLE, "The node is unavailable: try again shortly.\n").into_response()),
    }
}
