//! `account.txlistinternal`: indexed internal transactions.

use std::sync::Arc;

use client_address::Client;
use domain::{B256, BlockNumber, BlockRange, InternalFilter, InternalTransaction, PageRequest, TracedRange};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    coverage::Asked,
    params::{MAX_ROWS, PageParams, Params},
    rows::or_empty,
};
use crate::app::App;

const NOT_TRACED: &str =
    "Error! No internal transactions are indexed yet: the node does not support tracing, or no block is traced";
const NONE_FOUND: &str = "No transactions found";

pub(super) async fn list(app: &Arc<App>, client: Client, params: &Params) -> Result<Answer, Failure> {
    let _permit = app.permit(client).await?;
    let page = params.page(MAX_ROWS)?;
    let (found, from) = match params.find_hash("txhash")? {
        Some(hash) => of_transaction(app, hash, page).await?,
        None => {
            let blocks = params.block_range("startblock", "endblock")?;
            let filter =
                InternalFilter { address: params.find_address("address")?, blocks, ..InternalFilter::default() };
            (of_blocks(app, filter, page).await?, blocks.from)
        }
    };
    let rows: Vec<Value> = found.iter().map(row).collect();
    let asked = Asked { from, skip: page.skip };
    let known_since = asked.known_since(app).await?;
    match known_since {
        _ if rows.is_empty() => Err(asked.none_found(NONE_FOUND, known_since)),
        Some(first) => Ok(Answer::Since(first, rows.into())),
        None => Ok(Answer::Result(rows.into())),
    }
}

/// With the block of the transaction; None if it is in no indexed block.
async fn of_transaction(
    app: &App,
    hash: B256,
    page: PageParams,
) -> Result<(Vec<InternalTransaction>, Option<BlockNumber>), Failure> {
    let Some(transaction) = app.services.chain.find_transaction(hash).await? else { return Ok((Vec::new(), None)) };
    let (found, traced_range) = read(app, &InternalFilter::of(hash), page).await?;
    check_traced(app, traced_range, BlockRange::only(transaction.block_number)).await?;
    Ok((found, Some(transaction.block_number)))
}

async fn of_blocks(app: &App, filter: InternalFilter, page: PageParams) -> Result<Vec<InternalTransaction>, Failure> {
    let tip = app.tip().await?.number;
    let (found, traced_range) = read(app, &filter, page).await?;
    // A list without an end goes up to the last traced block, which follows the tip.
    let to = filter.blocks.to.filter(|to| *to < tip);
    check_traced(app, traced_range, BlockRange { to, ..filter.blocks }).await?;
    Ok(found)
}

async fn read(
    app: &App,
    filter: &InternalFilter,
    page: PageParams,
) -> Result<(Vec<InternalTransaction>, TracedRange), Failure> {
    let request = PageRequest { offset: page.skip, limit: page.rows, order: page.order };
    let found = app.services.chain.list_internal_transactions(filter, request).await?;
    let traced_range = found.traced_range.ok_or_else(|| Failure::text(NOT_TRACED))?;
    Ok((found.page.items, traced_range))
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
