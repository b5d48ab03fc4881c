//! `account.txlist`.

use std::sync::Arc;

use domain::{BlockNumber, BlockRange, Outcome, PageRequest, Transaction, TransactionDetail, TransactionFilter};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    params::{MAX_ROWS, PageParams, Params},
    rows::{FunctionNames, Rows, details, method_id, send},
};
use crate::{app::App, error::DialectError};

/// Transactions that are requested from the node at a time.
const PART: u32 = 100;

struct TransactionRows {
    app: Arc<App>,
    filter: TransactionFilter,
    page: PageParams,
    tip: BlockNumber,
    names: FunctionNames,
}

pub(super) async fn list(app: &Arc<App>, params: &Params) -> Result<Answer, Failure> {
    let address = params.address("address")?;
    let page = params.page(MAX_ROWS)?;
    let tip = app.tip().await?.number;
    let blocks = up_to(params.block_range("startblock", "endblock")?, tip);
    let rows = TransactionRows {
        filter: TransactionFilter { blocks, ..TransactionFilter::touching(address) },
        page,
        tip,
        names: FunctionNames::new(Arc::clone(app)),
        app: Arc::clone(app),
    };
    send(app, rows, "No transactions found").await
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
        let found = self.app.services.chain.list_transactions(&self.filter, part).await?.items;
        let hashes: Vec<_> = found.iter().map(|transaction| transaction.hash).collect();
        let mut rows = Vec::with_capacity(found.len());
        for (transaction, detail) in found.iter().zip(details(&self.app, &hashes).await?) {
            rows.push(self.row(transaction, &detail).await?);
        }
        Ok(rows)
    }
}

impl TransactionRows {
    async fn row(&mut self, transaction: &Transaction, detail: &TransactionDetail) -> Result<Value, DialectError> {
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
            "gas": detail.gas_limit.to_string(),
            "gasPrice": transaction.gas_price.to_string(),
            "isError": if transaction.succeeded { "0" } else { "1" },
            "txreceipt_status": match transaction.outcome() {
                Outcome::Succeeded => "1",
                Outcome::Failed => "0",
                // As Etherscan says it of receipts without a status.
                Outcome::Unknown => "",
            },
            "statusKnown": transaction.status_known,
            "input": detail.input.to_string(),
            "contractAddress": transaction.created.map(|created| format!("{created:#x}")).unwrap_or_default(),
            "cumulativeGasUsed": detail.cumulative_gas_used.map(|gas| gas.to_string()).unwrap_or_default(),
            "gasUsed": transaction.gas_used.to_string(),
            "fee": transaction.fee().to_string(),
            "confirmations": self.tip.saturating_sub(transaction.block_number).to_string(),
            "methodId": method_id(&detail.input),
            "functionName": function,
        }))
    }
}
