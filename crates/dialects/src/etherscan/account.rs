//! `module=account`: balances and lists of an address.

use std::{sync::Arc, time::Duration};

use client_address::Client;
use domain::{
    Address, Block, BlockId, BlockNumber, BlockRange, Bytes, Credit, CreditClass, CreditFilter, CreditSource,
    TokenKind, U256,
};
use enrichment::{AccountSource, SourcedAccount};
use futures::future::try_join_all;
use node::{CallOutcome, CallRequest};
use serde_json::{Value, json};

use super::{
    answer::{Answer, Failure},
    block::reward,
    coverage::Asked,
    internal,
    params::{MAX_ROWS, PageParams, Params, parse_number},
    rows::{Rows, send},
    transactions::{self, up_to},
    transfers, withdrawals,
};
use crate::{app::App, error::DialectError};

pub(super) const MAX_BALANCES: usize = 20;
/// `balanceOf(address)`.
const BALANCE_OF: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
const CALL_GAS: u64 = 10_000_000;
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Blocks whose rewards are computed at a time.
const PART: u32 = 50;

pub(super) async fn dispatch(app: &Arc<App>, client: Client, action: &str, params: &Params) -> Result<Answer, Failure> {
    match action {
        "balance" => Ok(Answer::text(balance(app, params.address("address")?, params).await?.to_string())),
        "balancemulti" => list_balances(app, params).await,
        "tokenbalance" => token_balance(app, params).await,
        "txlist" => transactions::list(app, client, params).await,
        "txlistinternal" => internal::list(app, params).await,
        "tokentx" => transfers::list(app, client, TokenKind::Bep20, params).await,
        "tokennfttx" => transfers::list(app, client, TokenKind::Bep721, params).await,
        "token1155tx" => transfers::list(app, client, TokenKind::Bep1155, params).await,
        "txsbeaconwithdrawal" => withdrawals::list(app, params).await,
        "getminedblocks" => list_mined_blocks(app, params).await,
        _ => Err(Failure::unknown_action()),
    }
}

async fn balance(app: &App, address: Address, params: &Params) -> Result<U256, Failure> {
    let tag = params.find("tag").unwrap_or("latest").to_ascii_lowercase();
    let number = match tag.as_str() {
        "latest" => return latest_balance(app, address).await,
        "earliest" => 0,
        // The balance at another block would look like the one that is asked for.
        number => parse_number(number).ok_or_else(|| Failure::invalid("tag", "must be latest or a block number"))?,
    };
    let block = app.services.chain.find_block(BlockId::Number(number)).await?;
    let block = block.ok_or_else(|| Failure::invalid("tag", "must be the number of an indexed block"))?;
    let account = app.services.node.account(address, block.id()).await?;
    // The node falls back to its head if it has pruned the state.
    if account.block != number {
        return Err(Failure::text("Error! The node no longer has the state of this block"));
    }
    Ok(account.balance)
}

/// The response has no place for the block of a balance, so that an older one is refused.
async fn latest_balance(app: &App, address: Address) -> Result<U256, Failure> {
    let tip = app.tip().await?;
    let SourcedAccount { account, source } = app.services.accounts.get_with_source(tip, address).await?;
    match source {
        AccountSource::Node if account.block >= tip.number => Ok(account.balance),
        AccountSource::Node | AccountSource::Store => Err(DialectError::OlderState.into()),
    }
}

async fn list_balances(app: &App, params: &Params) -> Result<Answer, Failure> {
    let addresses = params.addresses("address", MAX_BALANCES)?;
    let balances = try_join_all(addresses.iter().map(|address| balance(app, *address, params))).await?;
    let row = |(address, balance): (&Address, U256)| json!({ "account": format!("{address:#x}"), "balance": balance.to_string() });
    Ok(Answer::Result(addresses.iter().zip(balances).map(row).collect()))
}

async fn token_balance(app: &App, params: &Params) -> Result<Answer, Failure> {
    let (token, holder) = (params.address("contractaddress")?, params.address("address")?);
    let mut data = BALANCE_OF.to_vec();
    data.extend(holder.into_word());
    let amount = call_number(app, token, data.into()).await?;
    Ok(Answer::text(amount.ok_or_else(|| Failure::text("Error! The contract does not return a balance"))?.to_string()))
}

/// The number that a contract returns at the latest block; None if it returns none.
pub(super) async fn call_number(app: &App, contract: Address, data: Bytes) -> Result<Option<U256>, Failure> {
    let request = CallRequest { from: None, to: Some(contract), data, gas: CALL_GAS, timeout: CALL_TIMEOUT };
    Ok(match app.services.node.call(&request).await? {
        CallOutcome::Returned(output) => output.get(..32).map(U256::from_be_slice),
        CallOutcome::Failed(_) => None,
    })
}

struct MinedRows {
    app: Arc<App>,
    miner: Address,
    blocks: BlockRange,
    page: PageParams,
}

async fn list_mined_blocks(app: &Arc<App>, params: &Params) -> Result<Answer, Failure> {
    const NONE_FOUND: &str = "No transactions found";
    let miner = params.address("address")?;
    match params.find("blocktype").unwrap_or("blocks") {
        "blocks" => {}
        "uncles" => return list_mined_uncles(app, miner, params, NONE_FOUND).await,
        _ => return Err(Failure::invalid("blocktype", "must be blocks or uncles")),
    }
    // Etherscan sorts these the other way round.
    let mut page = params.page(MAX_ROWS)?;
    if params.find("sort").is_none() {
        page.order = domain::Order::NewestFirst;
    }
    let tip: BlockNumber = app.tip().await?.number;
    let rows = MinedRows { app: Arc::clone(app), miner, blocks: up_to(BlockRange::ALL, tip), page };
    let asked = Asked { from: rows.blocks.from, skip: page.skip };
    send(app, rows, NONE_FOUND, asked).await
}

struct UncleRows {
    app: Arc<App>,
    /// Rewards are credited in the order of the blocks that include uncles.
    filter: CreditFilter,
    page: PageParams,
}

async fn list_mined_uncles(
    app: &Arc<App>,
    miner: Address,
    params: &Params,
    none_found: &'static str,
) -> Result<Answer, Failure> {
    let mut page = params.page(MAX_ROWS)?;
    if params.find("sort").is_none() {
        page.order = domain::Order::NewestFirst;
    }
    let tip: BlockNumber = app.tip().await?.number;
    let filter =
        CreditFilter { blocks: up_to(BlockRange::ALL, tip), ..CreditFilter::of(miner, CreditClass::UncleRewards) };
    let asked = Asked { from: filter.blocks.from, skip: page.skip };
    send(app, UncleRows { app: Arc::clone(app), filter, page }, none_found, asked).await
}

impl Rows for UncleRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let Some(part) = self.page.next_part(PART) else { return Ok(Vec::new()) };
        let found = self.app.services.chain.list_credits(&self.filter, part).await?.items;
        let row = |credit: &Credit| match credit.event.source {
            CreditSource::UncleReward { number, timestamp, .. } => Some(json!({
                "blockNumber": number.to_string(),
                "timeStamp": timestamp.to_string(),
                "blockReward": credit.event.amount.to_string(),
            })),
            CreditSource::Withdrawal { .. }
            | CreditSource::BlockReward
            | CreditSource::Mint { .. }
            | CreditSource::Genesis => None,
        };
        Ok(found.iter().filter_map(row).collect())
    }
}

impl Rows for MinedRows {
    async fn next(&mut self) -> Result<Vec<Value>, DialectError> {
        let Some(part) = self.page.next_part(PART) else { return Ok(Vec::new()) };
        let blocks = self.app.services.chain.list_mined_blocks(self.miner, self.blocks, part).await?.items;
        let row = async |block: &Block| {
            Ok::<_, DialectError>(json!({
                "blockNumber": block.number.to_string(),
                "timeStamp": block.timestamp.to_string(),
                "blockReward": reward(&self.app, block).await?.to_string(),
            }))
        };
        let mut rows = Vec::with_capacity(blocks.len());
        for block in &blocks {
            rows.push(row(block).await?);
            // Others take their turns between the blocks.
            tokio::task::yield_now().await;
        }
        Ok(rows)
    }
}
