use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use domain::{Log, Page, Transaction, TransactionDetail};

use super::App;
use crate::error::PageError;
use crate::frame::{Frame, Section, page};
use crate::method;
use crate::names::Names;
use crate::view::{AddressLink, Amount, BlockLink, Moment, TradeRow, TransferRow, fee, grouped, short};

/// Bytes of call data that a page shows; the rest is a matter for tools.
const SHOWN_INPUT: usize = 4 * 1024;
/// Transfers and trades that a page shows.
const SHOWN_EVENTS: u32 = 100;
/// Logs that a page shows.
const SHOWN_LOGS: usize = 100;

#[derive(Template)]
#[template(path = "transaction.html")]
struct TransactionPage {
    frame: Frame,
    hash: String,
    succeeded: bool,
    block: BlockLink,
    confirmations: String,
    time: Moment,
    from: AddressLink,
    to: Option<AddressLink>,
    created: Option<AddressLink>,
    value: Amount,
    fee: Amount,
    gas_price: Amount,
    gas_used: String,
    nonce: String,
    index: u32,
    method: String,
    transfers: Vec<TransferRow>,
    more_transfers: u64,
    trades: Vec<TradeRow>,
    detail: Option<Detail>,
}

/// What only the node knows.
struct Detail {
    gas_limit: String,
    filled: u64,
    form: u64,
    input: String,
    input_bytes: usize,
    is_cut: bool,
    logs: Vec<LogRow>,
    more_logs: usize,
}

struct LogRow {
    index: u32,
    address: AddressLink,
    topics: Vec<String>,
    data: String,
}

pub(super) async fn show(State(app): State<App>, Path(hash): Path<String>) -> Result<Response, PageError> {
    let tx = match hash.parse() {
        Ok(hash) => app.chain.find_transaction(hash).await?,
        Err(_) => None,
    };
    let Some(tx) = tx else {
        return app
            .not_found("No such transaction", "It may still wait to be put into a block, or be of another chain.");
    };
    let events = app.chain.find_transaction_events(tx.hash, SHOWN_EVENTS).await?;
    let (transfers, trades) =
        events.map(|events| (events.transfers, events.trades)).unwrap_or((Page::empty(0), Page::empty(0)));
    let detail = app.details.of(&tx).await.map(|detail| Detail::new(&tx, &detail, &app.names));
    let tip = app.sync.borrow().tip.map_or(tx.block_number, |tip| tip.number);
    let full = format!("{:#x}", tx.hash);
    let names = &app.names;
    page(&TransactionPage {
        frame: app.frame(format!("Transaction {}", short(&full)), Section::Transactions),
        hash: full,
        succeeded: tx.succeeded,
        block: BlockLink::new(tx.block_number),
        confirmations: grouped(tip.saturating_sub(tx.block_number) + 1),
        time: Moment::of(tx.timestamp),
        from: names.address(tx.from),
        to: tx.to.map(|to| names.address(to)),
        created: tx.created.map(|created| names.address(created)),
        value: names.coin(tx.value),
        fee: names.coin(fee(&tx)),
        gas_price: Amount::gas_price(tx.gas_price),
        gas_used: grouped(tx.gas_used),
        nonce: grouped(tx.nonce),
        index: tx.index,
        method: method::name(&tx),
        more_transfers: transfers.total - transfers.items.len() as u64,
        transfers: transfers.items.iter().map(|transfer| TransferRow::new(transfer, names)).collect(),
        trades: trades.items.iter().map(|trade| TradeRow::new(trade, names)).collect(),
        detail,
    })
}

impl Detail {
    fn new(tx: &Transaction, detail: &TransactionDetail, names: &Names) -> Self {
        let shown = detail.input.get(..SHOWN_INPUT).unwrap_or(&detail.input);
        Self {
            gas_limit: grouped(detail.gas_limit),
            filled: tx.gas_used.saturating_mul(100).checked_div(detail.gas_limit).unwrap_or_default(),
            form: detail.form,
            input: alloy_primitives::hex::encode_prefixed(shown),
            input_bytes: detail.input.len(),
            is_cut: shown.len() < detail.input.len(),
            logs: detail.logs.iter().take(SHOWN_LOGS).map(|log| LogRow::new(log, names)).collect(),
            more_logs: detail.logs.len().saturating_sub(SHOWN_LOGS),
        }
    }
}

impl LogRow {
    fn new(log: &Log, names: &Names) -> Self {
        let data = log.data.get(..SHOWN_INPUT).unwrap_or(&log.data);
        Self {
            index: log.log_index,
            address: names.address(log.address),
            topics: log.topics.iter().map(|topic| format!("{topic:#x}")).collect(),
            data: alloy_primitives::hex::encode_prefixed(data),
        }
    }
}
