//! `account.txlistinternal`: calls inside transactions, traced by the node.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{Address, B256, BlockRange, Order, PageRequest, Transaction, TransactionFilter};
use node::InternalCall;
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    params::{MAX_ROWS, Params},
    transactions::up_to,
};
use crate::app::App;

/// Internal calls are not indexed, so every block of a range has to be traced.
const MAX_BLOCKS: u64 = 1_000;
const MAX_TIME: Duration = Duration::from_secs(20);
const NO_TRACES: &str = "Error! The node does not support tracing, so internal transactions are unknown";
const NONE_FOUND: &str = "No transactions found";

pub(super) async fn list(app: &Arc<App>, params: &Params) -> Result<Answer, Failure> {
    let _permit = app.heavy.acquire().await;
    let page = params.page(MAX_ROWS)?;
    let rows = match params.find_hash("txhash")? {
        Some(hash) => of_transaction(app, hash).await?,
        None => {
            let range = up_to(params.block_range("startblock", "endblock")?, app.tip().await?.number);
            of_blocks(app, params.find_address("address")?, range, page.order).await?
        }
    };
    let skip = usize::try_from(page.skip).unwrap_or(usize::MAX);
    let rows: Vec<Value> = rows.into_iter().skip(skip).take(page.rows as usize).collect();
    if rows.is_empty() { Err(Failure::empty(NONE_FOUND)) } else { Ok(Answer::Result(rows.into())) }
}

async fn of_transaction(app: &App, hash: B256) -> Result<Vec<Value>, Failure> {
    let Some(transaction) = app.services.chain.find_transaction(hash).await? else { return Ok(Vec::new()) };
    let calls = app.services.node.find_internal_calls(hash).await?.ok_or_else(|| Failure::text(NO_TRACES))?;
    Ok(calls.iter().map(|call| row(&transaction, call)).collect())
}

async fn of_blocks(
    app: &App,
    address: Option<Address>,
    range: BlockRange,
    order: Order,
) -> Result<Vec<Value>, Failure> {
    let chain = &app.services.chain;
    let started = Instant::now();
    let blocks = chain.list_blocks(range, PageRequest { offset: 0, limit: 0, order }).await?.total;
    if blocks > MAX_BLOCKS {
        return Err(Failure::text(format!(
            "Error! Internal transactions are traced on request: give a txhash, or a startblock and an endblock at most {MAX_BLOCKS} blocks apart"
        )));
    }
    let limit = u32::try_from(blocks).unwrap_or(u32::MAX);
    let mut rows = Vec::new();
    for block in chain.list_blocks(range, PageRequest { offset: 0, limit, order }).await?.items {
        if block.tx_count == 0 {
            continue;
        }
        if started.elapsed() > MAX_TIME {
            return Err(Failure::text("Error! Query Timeout occured. Please select a smaller result dataset"));
        }
        let filter = TransactionFilter { blocks: BlockRange::only(block.number), ..TransactionFilter::default() };
        let all = PageRequest { offset: 0, limit: block.tx_count, order: Order::OldestFirst };
        let transactions = chain.list_transactions(&filter, all).await?.items;
        let traces = app.services.node.find_internal_calls_of_block(block.number).await?;
        let traces = traces.ok_or_else(|| Failure::text(NO_TRACES))?;
        let is_same = traces.len() == transactions.len()
            && traces.iter().zip(&transactions).all(|((hash, _), tx)| hash.is_none_or(|hash| hash == tx.hash));
        if !is_same {
            return Err(crate::error::DialectError::Moved.into());
        }
        let touches = |call: &&InternalCall| address.is_none_or(|one| call.from == one || call.to == Some(one));
        let mut of_block: Vec<Value> = transactions
            .iter()
            .zip(&traces)
            .flat_map(|(transaction, (_, calls))| calls.iter().filter(touches).map(move |call| row(transaction, call)))
            .collect();
        if order == Order::NewestFirst {
            of_block.reverse();
        }
        rows.extend(of_block);
    }
    Ok(rows)
}

fn row(transaction: &Transaction, call: &InternalCall) -> Value {
    let party = call.to.map(|to| format!("{to:#x}")).unwrap_or_default();
    let (to, created) = if call.kind.is_creation() { (String::new(), party) } else { (party, String::new()) };
    let path: Vec<String> = call.path.iter().map(u32::to_string).collect();
    json!({
        "blockNumber": transaction.block_number.to_string(),
        "timeStamp": transaction.timestamp.to_string(),
        "hash": format!("{:#x}", transaction.hash),
        "from": format!("{:#x}", call.from),
        "to": to,
        "value": call.value.to_string(),
        "contractAddress": created,
        "input": "",
        "type": call.kind.name(),
        "gas": call.gas.to_string(),
        "gasUsed": call.gas_used.to_string(),
        "traceId": path.join("_"),
        "isError": if call.error.is_some() { "1" } else { "0" },
        "errCode": call.error.clone().unwrap_or_default(),
    })
}
