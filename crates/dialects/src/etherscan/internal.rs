//! `account.txlistinternal`: indexed internal transactions.

use std::sync::Arc;

use domain::{BlockRange, InternalFilter, InternalTransaction, PageRequest, TracedRange};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    coverage::Asked,
    params::{MAX_ROWS, PageParams, Params},
    rows::{Rows, or_empty, send},
    transactions::up_to,
};
use crate::{app::App, error::DialectError};

const NOT_TRACED: &str =
    "Error! No internal transactions are indexed yet: the node does not support tracing, or no block is traced";
const NONE_FOUND: &str = "No transactions found";

/// Rows that are read at a time.
const PART: u32 = 100;

struct InternalRows {
    app: Arc<App>,
    filter: InternalFilter,
    page: PageParams,
}

pub(super) async fn list(app: &Arc<App>, params: &Params) -> Result<Answer, Failure> {
    let page = params.page(MAX_ROWS)?;
    let (mut filter, blocks) = match params.find_hash("txhash")? {
        Some(hash) => {
            let Some(transaction) = app.services.chain.find_transaction(hash).await? else {
                let asked = Asked { from: None, skip: page.skip };
                return Err(asked.none_found(NONE_FOUND, asked.known_since(app).await?));
            };
            (InternalFilter::of(hash), BlockRange::only(transaction.block_number))
        }
        None => {
            let blocks = params.block_range("startblock", "endblock")?;
            let filter =
                InternalFilter { address: params.find_address("address")?, blocks, ..InternalFilter::default() };
            // A list without an end goes up to the last traced block, which follows the tip.
            let tip = app.tip().await?.number;
            (filter, BlockRange { to: blocks.to.filter(|to| *to < tip), ..blocks })
        }
    };
    let first = app.services.chain.list_internal_transactions(&filter, PageRequest::newest(0)).await?;
    let traced_range = first.traced_range.ok_or_else(|| Failure::text(NOT_TRACED))?;
    check_traced(app, traced_range, blocks).await?;
    if filter.transaction.is_none() {
        filter.blocks = up_to(filter.blocks, traced_range.to);
    }
    let asked = Asked { from: blocks.from, skip: page.skip };
    send(app, InternalRows { app: Arc::clone(app), filter, page }, NONE_FOUND, asked).await
}

impl Rows for InternalRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let Some(part) = self.page.next_part(PART) else { return Ok(Vec::new()) };
        let found = self.app.services.chain.list_internal_transactions(&self.filter, part).await?;
        Ok(found.page.items.iter().map(row).collect())
    }
}

/// A list with gaps would look like one without.
async fn check_traced(app: &App, traced_range: TracedRange, blocks: BlockRange) -> Result<(), Failure> {
    let is_missing_above = blocks.to.is_some_and(|to| to > traced_range.to);
    let is_missing_below = match traced_range.from.checked_sub(1) {
        None => false,
        Some(last) => {
            let below = BlockRange { to: Some(blocks.to.map_or(last, |to| to.min(last))), ..blocks };
            // Counted, since the index may begin with a later block than the list.
            app.services.chain.list_blocks(below, PageRequest::newest(0)).await?.total > 0
        }
    };
    if !is_missing_above && !is_missing_below {
        return Ok(());
    }
    Err(Failure::text(format!(
        "Error! Internal transactions are indexed for blocks {} to {} so far: give a startblock and an endblock between them",
        traced_range.from, traced_range.to
    )))
}

fn row(found: &InternalTransaction) -> Value {
    let event = &found.event;
    let party = event.to.map(|to| format!("{to:#x}")).unwrap_or_default();
    let (to, created) = if event.kind.is_creation() { (String::new(), party) } else { (party, String::new()) };
    json!({
        "blockNumber": found.block_number.to_string(),
        "timeStamp": found.timestamp.to_string(),
        "hash": format!("{:#x}", found.tx_hash),
        "from": format!("{:#x}", event.from),
        "to": to,
        "value": event.value.to_string(),
        "contractAddress": created,
        "input": "",
        "type": event.kind.name(),
        "gas": or_empty(event.known_gas()),
        "gasUsed": or_empty(event.known_gas_used()),
        "traceId": event.position.to_string(),
        "isError": if event.error.is_some() { "1" } else { "0" },
        "errCode": event.error.clone().unwrap_or_default(),
    })
}
