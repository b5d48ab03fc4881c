//! `account.txlist`.

use std::sync::Arc;

use client_address::Client;
use domain::{BlockNumber, BlockRange, Outcome, PageRequest, Transaction, TransactionFilter};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    coverage::Asked,
    params::{MAX_ROWS, PageParams, Params},
    rows::{FunctionNames, LongInputs, Rows, input_text, method_id, or_empty, send},
};
use crate::{app::App, error::DialectError};

/// Transactions that are read at a time.
const PART: u32 = 100;

struct TransactionRows {
    app: Arc<App>,
    filter: TransactionFilter,
    page: PageParams,
    tip: BlockNumber,
    inputs: LongInputs,
    names: FunctionNames,
}

/// The list that is asked for, of blocks up to the tip.
pub(super) fn filter(params: &Params, tip: BlockNumber) -> Result<TransactionFilter, Failure> {
    let address = params.address("address")?;
    let blocks = up_to(params.block_range("startblock", "endblock")?, tip);
    Ok(TransactionFilter { blocks, ..TransactionFilter::touching(address) })
}

pub(super) async fn list(app: &Arc<App>, client: Client, params: &Params) -> Result<Answer, Failure> {
    let page = params.page(MAX_ROWS)?;
    let tip = app.tip().await?.number;
    let rows = TransactionRows {
        filter: filter(params, tip)?,
        page,
        tip,
        inputs: LongInputs::new(Arc::clone(app), client, page.rows),
        names: FunctionNames::new(Arc::clone(app)),
        app: Arc::clone(app),
    };
    let asked = Asked { from: rows.filter.blocks.from, skip: page.skip };
    send(app, rows, "No transactions found", asked).await
}

/// Bounds a range, so that blocks that are indexed meanwhile do not move the pages.
pub(super) fn up_to(range: BlockRange, tip: BlockNumber) -> BlockRange {
    BlockRange { to: Some(range.to.unwrap_or(tip).min(tip)), ..range }
}

impl PageParams {
    /// The next part of the page; None if nothing is left of it.
    pub(super) fn next_part(&mut self, most: u32) -> Option<PageRequest> {
        let limit = self.rows.min(most);
        let part = PageRequest { offset: self.skip, limit, order: self.order };
        self.rows -= limit;
        self.skip = self.skip.saturating_add(u64::from(limit));
        (limit > 0).then_some(part)
    }
}

impl Rows for TransactionRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let Some(part) = self.page.next_part(PART) else { return Ok(Vec::new()) };
        let mut found = self.app.services.chain.list_transactions(&self.filter, part).await?.items;
        self.inputs.fill(&mut found.iter_mut().collect::<Vec<_>>()).await?;
        let mut rows = Vec::with_capacity(found.len());
        for transaction in &found {
            rows.push(self.row(transaction).await?);
        }
        Ok(rows)
    }
}

impl TransactionRows {
    async fn row(&mut self, transaction: &Transaction) -> Result<Value, DialectError> {
        let function = match (transaction.to, transaction.method) {
            (Some(to), Some(method)) => self.names.find(to, method).await?,
            _ => String::new(),
        };
        Ok(json!({
            "blockNumber": transaction.block_number.to_string(),
            "timeStamp": transaction.timestamp.to_string(),
            "hash": format!("{:#x}", transaction.hash),
            "nonce": transaction.nonce.to_string(),
            "blockHash": format!("{:#x}", transaction.block_hash),
            "transactionIndex": transaction.index.to_string(),
            "from": format!("{:#x}", transaction.from),
            "to": transaction.to.map(|to| format!("{to:#x}")).unwrap_or_default(),
            "value": transaction.value.to_string(),
            "gas": or_empty(transaction.gas_limit),
            "gasPrice": transaction.gas_price.to_string(),
            "isError": match transaction.outcome() {
                Outcome::Succeeded => "0",
                Outcome::Failed => "1",
                Outcome::Unknown => "",
            },
            "txreceipt_status": match transaction.outcome() {
                Outcome::Succeeded => "1",
                Outcome::Failed => "0",
                // As Etherscan says it of receipts without a status.
                Outcome::Unknown => "",
            },
            "statusKnown": transaction.status_known,
            "input": input_text(transaction.input.as_ref()),
            "contractAddress": transaction.created.map(|created| format!("{created:#x}")).unwrap_or_default(),
            "cumulativeGasUsed": or_empty(transaction.cumulative_gas_used),
            "gasUsed": transaction.gas_used.to_string(),
            "fee": transaction.fee().to_string(),
            "confirmations": self.tip.saturating_sub(transaction.block_number).to_string(),
            "methodId": method_id(transaction),
            "functionName": function,
        }))
    }
}
