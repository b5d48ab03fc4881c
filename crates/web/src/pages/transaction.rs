mod authorizations;
mod blobs;
mod fee;
mod logs;
mod moved;
mod operations;
mod summary;

use std::{collections::HashMap, sync::Arc};

use alloy_primitives::hex;
use askama::Template;
use authorizations::AuthorizationsView;
use axum::{
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use blobs::BlobsView;
use contracts::{KnownInterface, decode::Decoded, revert_reason, standards};
use domain::{
    Address, B256, BlockId, Code, FailureSource, Fee, InternalFilter, InternalPage, Outcome, Page, PageRequest, Trade,
    Transaction, TransactionDetail, Transfer, U256,
};
use fee::FeeView;
use futures::future::try_join_all;
use logs::{Chosen, LogChoice, LogsView};
use moved::MovedRow;
use node::NodeError;
use operations::{OperationsView, operations_view};
use serde::Deserialize;
use summary::{SummaryInput, Word};

use super::pending::show_unindexed;
use crate::{
    account::find_account,
    error::PageError,
    frame::{Frame, Section},
    node_calls::NodeCallRefused,
    state::{App, WebState},
    view::{
        AddressLink, Amount, BlockLink, DecodedView, FieldValue, InternalRow, Moment, PageNames, Part, PartOf,
        PartPager, TradeRow, counted, grouped, method_name, readable_text, sanitize_name, sanitize_text, short,
        shown_reason, type_name,
    },
};

/// Maximum bytes of input on a page; `/tx/{hash}/input` has all.
const SHOWN_INPUT: usize = 4 * 1024;
/// Characters of a field that only some chains have.
const SHOWN_FIELD: usize = 200;
const SHOWN_TRADES: u32 = 100;
/// Of the lists of what moved and of internal transactions.
const TRANSFERS_OF_PAGE: u32 = 25;
const INTERNAL_OF_PAGE: u32 = 100;
/// Maximum characters of the reason of a failure.
const MAX_REASON: usize = 500;
/// Maximum number of contracts whose interfaces are looked up for a page.
const MAX_CONTRACTS: usize = 20;

const NOT_A_HASH: &str = "Not a transaction hash";
const HASH_FORMAT: &str = "A transaction hash is 0x and 64 hexadecimal digits. Check that it was copied completely.";

#[derive(Template)]
#[template(path = "transaction.html")]
struct TransactionPage {
    frame: Frame,
    hash: String,
    summary: Vec<Word>,
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
    moved: Vec<MovedRow>,
    moved_pager: PartPager,
    /// Whether the calls of the transaction are known, and so what was paid in them.
    is_traced: bool,
    internal: Vec<InternalRow>,
    internal_total: String,
    internal_pager: PartPager,
    is_internal_open: bool,
    trades: Vec<TradeRow>,
    operations: Option<OperationsView>,
    detail: Option<Detail>,
}

/// Why the transaction failed.
struct Failure {
    /// The contract's reason, or the node's error.
    reason: String,
    /// What is not certain about it.
    note: &'static str,
}

/// Data from the node.
struct Detail {
    gas_limit: String,
    filled: u64,
    transaction_type: String,
    /// Names and values.
    other_fields: Vec<(String, String)>,
    /// EIP-1559.
    max_fee: Option<Amount>,
    max_priority_fee: Option<Amount>,
    /// What the sender offered, and did not pay.
    saved: Option<Amount>,
    call: Option<DecodedView>,
    input: String,
    /// The input, if it is readable text.
    input_text: Option<String>,
    input_bytes: usize,
    input_size: String,
    is_cut: bool,
    /// None without any.
    authorizations: Option<AuthorizationsView>,
    blobs: Option<BlobsView>,
    is_message: bool,
    logs: LogsView,
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
        return app.not_found(NOT_A_HASH, HASH_FORMAT).await;
    };
    let Some(tx) = app.chain.find_transaction(hash).await? else {
        return show_unindexed(&app, hash).await;
    };
    let full = format!("{:#x}", tx.hash);
    let path = format!("/tx/{full}");
    let moved_part = Part::new(params.moved.as_deref(), TRANSFERS_OF_PAGE);
    let internal_part = Part::new(params.internal.as_deref(), INTERNAL_OF_PAGE);
    let (transfers, trades, listed) = transaction_events(&app, &tx, moved_part).await?;
    let InternalPage { page: internal, traced_range } =
        app.chain.list_internal_transactions(&InternalFilter::of(tx.hash), internal_part.request()).await?;
    let operations = operations_view(&app, &tx, &path, params.operations.as_deref(), names).await?;
    let detail = transaction_detail(&app, &tx).await;
    let chosen = params.logs.choose(detail.as_deref().map(|detail| detail.logs.as_slice()).unwrap_or_default());
    let is_message = is_message(&app, &tx).await?;
    let interfaces = transaction_interfaces(&app, &tx, &chosen).await?;
    let method = tx.to.zip(tx.method).and_then(|(to, selector)| interfaces.function_name(to, selector));
    let method = match is_message {
        true => "message".to_owned(),
        false => method.unwrap_or_else(|| method_name(&tx)),
    };
    let failure = find_failure(&app, &tx, detail.as_deref(), &interfaces).await;
    let called = tx.to.filter(|_| !is_message);
    let call = called.zip(detail.as_deref()).and_then(|(to, detail)| interfaces.call(to, &detail.input));
    let token = match tx.to {
        Some(to) if call.is_some() => app.chain.find_token(to).await?,
        _ => None,
    };
    // A block that was reverted in between is not one without a base fee.
    let Some(block) = app.chain.find_block(BlockId::Hash(tx.block_hash)).await? else {
        return show_unindexed(&app, hash).await;
    };
    let base_fee = block.base_fee_per_gas;
    let currency = Fee::of(&tx, base_fee).currency;
    let paid_in = match currency {
        Some(token) => app.chain.find_token(token).await?,
        None => None,
    };
    let fee = FeeView::new(&tx, base_fee, paid_in.as_ref(), names);
    let tip = app.sync.borrow().tip.map(|tip| tip.number);
    let summary = SummaryInput {
        tx: &tx,
        method: &method,
        is_message,
        call: call.as_ref().map(|(call, _)| call),
        token: token.as_ref(),
        transfers: &transfers.items,
        transfer_count: transfers.total,
        trades: &trades.items,
        trade_count: trades.total,
        authorizations: detail.as_deref().and_then(|detail| detail.authorizations.as_deref()).unwrap_or_default(),
        names,
    };
    let (time, value) = (Moment::of(tx.timestamp), names.coin(tx.value));
    let description = format!(
        "{} transaction on {} in block {} at {}: {method} from {} {}, value {}.",
        match tx.outcome() {
            Outcome::Succeeded => "Successful",
            Outcome::Failed => "Failed",
            Outcome::Unknown => "A",
        },
        names.chain,
        grouped(tx.block_number),
        time.exact(),
        short(&tx.from.to_checksum(None)),
        tx.to.map_or_else(|| "creating a contract".to_owned(), |to| format!("to {}", short(&to.to_checksum(None)))),
        value.shown(),
    );
    // The payments come first, so they are on the first page.
    let paid = if moved_part.is_first() { moved::payments(&tx, &internal.items, names) } else { Vec::new() };
    let moved = paid.into_iter().chain(moved::transfers(&listed, names)).collect();
    let is_part =
        params.moved.is_some() || params.internal.is_some() || params.operations.is_some() || params.logs.is_set();
    app.page(
        names,
        &TransactionPage {
            frame: app
                .frame(format!("Transaction {}", short(&full)), Section::Transactions)
                .await
                .described(description)
                .at(path.clone())
                .unlisted_if(is_part)
                .live_if(!app.is_final(tx.block_number)),
            hash: full,
            summary: summary.summary(),
            outcome: tx.outcome().name(),
            failure,
            block: BlockLink::new(tx.block_number),
            confirmations: tip.map(|tip| counted(tip.saturating_sub(tx.block_number) + 1, "confirmation")),
            time,
            from: names.address(tx.from),
            to: tx.to.map(|to| names.address(to)),
            created: tx.created.map(|created| names.address(created)),
            unpaid: match tx.outcome() {
                _ if tx.value.is_zero() => None,
                Outcome::Succeeded => None,
                Outcome::Failed => Some((value, "stayed with the sender")),
                Outcome::Unknown => Some((value, "if the transaction succeeded")),
            },
            fee,
            gas_used: grouped(tx.gas_used),
            nonce: grouped(tx.nonce),
            index: tx.index,
            method,
            moved,
            moved_pager: PartPager::new(
                moved_part,
                transfers.total,
                PartOf { what: "Token transfers", path: &path, name: "moved" },
            ),
            is_traced: traced_range.is_some_and(|range| (range.from..=range.to).contains(&tx.block_number)),
            internal_total: grouped(internal.total),
            internal_pager: PartPager::new(
                internal_part,
                internal.total,
                PartOf { what: "Internal transactions", path: &path, name: "internal" },
            ),
            is_internal_open: params.internal.is_some(),
            internal: internal.items.iter().map(|found| InternalRow::new(found, names)).collect(),
            trades: trades.items.iter().map(|trade| TradeRow::new(trade, names)).collect(),
            operations,
            detail: detail.as_deref().map(|detail| {
                let logs = chosen.view(&path, |address| interfaces.of(address), names);
                Detail::new(&tx, detail, call.as_ref(), logs, is_message, names)
            }),
        },
    )
    .await
}

/// The complete input as text: the page shows only the start of a long one.
pub(super) async fn show_input(State(app): State<App>, Path(hash): Path<String>) -> Result<Response, PageError> {
    let Ok(hash) = hash.parse() else {
        return app.not_found(NOT_A_HASH, HASH_FORMAT).await;
    };
    let Some(tx) = app.chain.find_transaction(hash).await? else {
        return app.not_found("No such transaction", "Its input is available once it is in an indexed block.").await;
    };
    match transaction_detail(&app, &tx).await {
        Some(detail) => Ok(hex::encode_prefixed(&detail.input).into_response()),
        None => Ok((StatusCode::SERVICE_UNAVAILABLE, "The node is unavailable: try again shortly.\n").into_response()),
    }
}

/// A trace of a transaction for a page, or why there is none.
pub(super) struct Traced<T> {
    pub(super) trace: T,
    /// Empty if there is a trace.
    pub(super) missing: &'static str,
}

impl<T: Default> Traced<T> {
    pub(super) fn new(traced: Result<Result<Option<T>, NodeError>, NodeCallRefused>) -> Self {
        let (trace, missing) = match traced {
            Ok(Ok(Some(trace))) => (trace, ""),
            Ok(Ok(None)) => (T::default(), "The node does not trace transactions, or does not have this one."),
            Ok(Err(_)) | Err(_) => (T::default(), "There is no answer from the node. Try again shortly."),
        };
        Self { trace, missing }
    }
}

/// None if the node is unavailable, or if it has the transaction in another block than the index. One that is cached costs
/// the client nothing.
async fn transaction_detail(app: &WebState, tx: &Transaction) -> Option<Arc<TransactionDetail>> {
    match app.details.find_cached(tx) {
        Some(cached) => Some(cached),
        None => app.node_calls.run(app.details.find(tx)).await?,
    }
}

/// The first transfers and trades, by which a transaction is summarized, and the transfers of a page.
async fn transaction_events(
    app: &WebState,
    tx: &Transaction,
    part: Part,
) -> Result<(Page<Transfer>, Page<Trade>, Vec<Transfer>), PageError> {
    let Some(first) = app.chain.find_transaction_events(tx.hash, 0, SHOWN_TRADES).await? else {
        return Ok((Page::empty(0), Page::empty(0), Vec::new()));
    };
    let listed = if part.is_first() {
        first.transfers.items.iter().take(TRANSFERS_OF_PAGE as usize).cloned().collect()
    } else {
        let PageRequest { offset, limit, .. } = part.request();
        let found = app.chain.find_transaction_events(tx.hash, offset, limit).await?;
        found.map(|events| events.transfers.items).unwrap_or_default()
    };
    Ok((first.transfers, first.trades, listed))
}

/// Whether the input is not that of a call: the receiver has no code. The node is asked about one of which the index has none,
/// since it may be a contract whose code has not been read, or an account that delegates to one.
async fn is_message(app: &WebState, tx: &Transaction) -> Result<bool, PageError> {
    let Some((to, _)) = tx.to.zip(tx.method) else { return Ok(false) };
    if app.chain.find_code_hash(to).await?.is_some() || is_precompile(to) {
        return Ok(false);
    }
    Ok(find_account(app, to).await.is_some_and(|account| account.code == Code::None))
}

/// The hash of an indexed transaction, which the node can trace; otherwise the page that says what is wrong.
pub(super) async fn traced_hash(app: &WebState, hash: &str) -> Result<Result<B256, Response>, PageError> {
    let Ok(hash) = hash.parse() else {
        return Ok(Err(app.not_found(NOT_A_HASH, HASH_FORMAT).await?));
    };
    if app.chain.find_transaction(hash).await?.is_none() {
        let advice = "It can be traced once it is in an indexed block.";
        return Ok(Err(app.not_found("No such transaction", advice).await?));
    }
    Ok(Ok(hash))
}

/// The interfaces of the called contract and of the contracts that emitted logs.
struct TransactionInterfaces {
    interfaces: HashMap<Address, Vec<KnownInterface>>,
}

async fn transaction_interfaces(
    app: &WebState,
    tx: &Transaction,
    logs: &Chosen<'_>,
) -> Result<TransactionInterfaces, PageError> {
    let mut contracts: Vec<Address> = Vec::new();
    for address in tx.method.and(tx.to).into_iter().chain(logs.emitters()) {
        if contracts.len() < MAX_CONTRACTS && !contracts.contains(&address) {
            contracts.push(address);
        }
    }
    let look_up = async |address| Ok::<_, PageError>((address, app.interfaces.of(address, &app.node_calls).await?));
    Ok(TransactionInterfaces {
        interfaces: try_join_all(contracts.into_iter().map(look_up)).await?.into_iter().collect(),
    })
}

/// Why a transaction failed; None if it succeeded.
async fn find_failure(
    app: &WebState,
    tx: &Transaction,
    detail: Option<&TransactionDetail>,
    interfaces: &TransactionInterfaces,
) -> Option<Failure> {
    if tx.succeeded {
        return None;
    }
    let found = app.node_calls.run(app.failures.find(tx, detail)).await;
    Some(match found {
        Some(Ok(Some(failure))) => {
            let interfaces = tx.to.map(|to| interfaces.of(to)).unwrap_or_default();
            let interfaces = interfaces.iter().map(|interface| &**interface);
            Failure {
                reason: match &failure.data {
                    Some(data) => shown_reason(&revert_reason(Some(data), "", interfaces), MAX_REASON),
                    None => sanitize_text(&failure.error, MAX_REASON),
                },
                note: match failure.source {
                    FailureSource::Trace => "",
                    FailureSource::ParentBlock => "when called again on the state before its block",
                },
            }
        }
        Some(Ok(None)) => Failure { reason: "The node cannot tell why.".to_owned(), note: "" },
        Some(Err(_)) | None => {
            Failure { reason: "The reason is not available now: try again shortly.".to_owned(), note: "" }
        }
    })
}

impl TransactionInterfaces {
    fn of(&self, address: Address) -> &[KnownInterface] {
        self.interfaces.get(&address).map(Vec::as_slice).unwrap_or_default()
    }

    fn function_name(&self, address: Address, selector: [u8; 4]) -> Option<String> {
        self.of(address).iter().find_map(|interface| interface.function_name(selector)).map(sanitize_name)
    }

    /// The decoded call, and whether it is a guess.
    fn call(&self, address: Address, input: &[u8]) -> Option<(Decoded, bool)> {
        let verified = self.of(address).iter().find_map(|interface| interface.call(input));
        let guess = || Some((standards().guess_call(input)?, true));
        verified.map(|call| (call, false)).or_else(guess)
    }
}

impl Detail {
    fn new(
        tx: &Transaction,
        detail: &TransactionDetail,
        call: Option<&(Decoded, bool)>,
        logs: LogsView,
        is_message: bool,
        names: &PageNames,
    ) -> Self {
        let authorizations = detail.authorizations.as_deref().filter(|given| !given.is_empty());
        let shown = detail.input.get(..SHOWN_INPUT).unwrap_or(&detail.input);
        Self {
            gas_limit: grouped(detail.gas_limit),
            filled: tx.gas_used.saturating_mul(100).checked_div(detail.gas_limit).unwrap_or_default(),
            transaction_type: type_name(detail.tx_type),
            other_fields: detail.other_fields.iter().map(|(name, text)| (name.clone(), shown_field(text))).collect(),
            max_fee: detail.max_fee_per_gas.map(Amount::gas_price),
            max_priority_fee: detail.max_priority_fee_per_gas.map(Amount::gas_price),
            saved: detail
                .max_fee_per_gas
                .filter(|_| tx.is_priced())
                .map(|max| names.coin(gas_cost(max.saturating_sub(tx.gas_price), tx.gas_used))),
            call: call.map(|(call, is_guess)| DecodedView::new(call, *is_guess, names)),
            input: hex::encode_prefixed(shown),
            input_text: readable_text(shown, SHOWN_INPUT),
            input_bytes: detail.input.len(),
            input_size: counted(detail.input.len() as u64, "byte"),
            is_cut: shown.len() < detail.input.len(),
            authorizations: authorizations.map(|given| AuthorizationsView::new(given, names)),
            blobs: detail.blobs.as_ref().map(|blobs| BlobsView::new(tx, blobs, names)),
            is_message,
            logs,
        }
    }
}

/// A field that only some chains have; the JSON has all of it.
fn shown_field(text: &str) -> String {
    match text.char_indices().nth(SHOWN_FIELD) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The addresses at which nodes run code of their own.
fn is_precompile(address: Address) -> bool {
    address.iter().take(18).all(|byte| *byte == 0)
}

fn gas_cost(price: u128, gas: u64) -> U256 {
    U256::from(price).saturating_mul(U256::from(gas))
}
