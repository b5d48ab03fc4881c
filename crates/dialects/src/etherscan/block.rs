//! `module=block`.

use domain::{
    Block, BlockId, BlockRange, Credit, CreditClass, CreditSource, Fee, Order, PageRequest, TransactionFilter, U256,
};
use serde_json::{Value, json};
use store::{find_first_block_since, list_block_credits};

use super::{
    answer::{Answer, Failure},
    params::Params,
};
use crate::{app::App, error::DialectError};

const PART: u32 = 1_000;

pub(super) async fn dispatch(app: &App, action: &str, params: &Params) -> Result<Answer, Failure> {
    match action {
        "getblocknobytime" => get_block_by_time(app, params).await,
        "getblockreward" => get_block_reward(app, params).await,
        _ => Err(Failure::unknown_action()),
    }
}

async fn get_block_by_time(app: &App, params: &Params) -> Result<Answer, Failure> {
    let timestamp = params.number("timestamp")?;
    let wants_before = match params.find("closest").unwrap_or("before").to_ascii_lowercase().as_str() {
        "before" => true,
        "after" => false,
        _ => return Err(Failure::invalid("closest", "must be before or after")),
    };
    let chain = &*app.services.chain;
    let first = chain.coverage().await?.first_block.ok_or(DialectError::NothingIndexed)?;
    let since = if wants_before { timestamp.saturating_add(1) } else { timestamp };
    let found = find_first_block_since(chain, since).await?.ok_or(DialectError::NothingIndexed)?;
    // The first indexed block is the first one since then only if it is known that the one before it is earlier.
    if found == first && first > 0 {
        return Err(Failure::text(format!(
            "Error! The index begins with block {first}, which is not earlier: the closest block is unknown"
        )));
    }
    let tip = app.tip().await?.number;
    let found = if wants_before { found.checked_sub(1).filter(|found| *found >= first) } else { Some(found) };
    match found.filter(|found| *found <= tip) {
        Some(number) => Ok(Answer::text(number.to_string())),
        None => Err(Failure::text("Error! No closest block found")),
    }
}

async fn get_block_reward(app: &App, params: &Params) -> Result<Answer, Failure> {
    let number = params.number("blockno")?;
    let block = app.services.chain.find_block(BlockId::Number(number)).await?;
    let block = block.ok_or_else(|| Failure::nothing("No record found"))?;
    let issued = list_block_credits(&*app.services.chain, number, CreditClass::Issuances).await?;
    let uncles: Vec<&Credit> = issued.iter().filter(|credit| is_for_uncle(credit)).collect();
    let uncle = |(position, credit): (usize, &&Credit)| {
        json!({
            "miner": format!("{:#x}", credit.event.to),
            "unclePosition": position.to_string(),
            "blockreward": credit.event.amount.to_string(),
        })
    };
    // A block pays a thirty-second of its own reward for each uncle: this is that part of what it was paid.
    let paid = sum_of(issued.iter().filter(|credit| credit.event.source == CreditSource::BlockReward));
    let inclusion = paid * U256::from(uncles.len()) / U256::from(32 + uncles.len());
    Ok(Answer::Result(json!({
        "blockNumber": block.number.to_string(),
        "timeStamp": block.timestamp.to_string(),
        "blockMiner": format!("{:#x}", block.miner),
        "blockReward": (fees_of(app, &block).await? + paid).to_string(),
        "uncles": uncles.iter().enumerate().map(uncle).collect::<Vec<Value>>(),
        "uncleInclusionReward": inclusion.to_string(),
    })))
}

fn is_for_uncle(credit: &Credit) -> bool {
    matches!(credit.event.source, CreditSource::UncleReward { .. })
}

fn sum_of<'a>(credits: impl Iterator<Item = &'a Credit>) -> U256 {
    credits.map(|credit| credit.event.amount).fold(U256::ZERO, U256::saturating_add)
}

/// What the block's producer earned: fees, and what the protocol paid.
pub(super) async fn reward(app: &App, block: &Block) -> Result<U256, DialectError> {
    let issued = list_block_credits(&*app.services.chain, block.number, CreditClass::Issuances).await?;
    let paid = sum_of(issued.iter().filter(|credit| credit.event.source == CreditSource::BlockReward));
    Ok(fees_of(app, block).await? + paid)
}

/// The fees that the block's producer earned.
async fn fees_of(app: &App, block: &Block) -> Result<U256, DialectError> {
    let filter = TransactionFilter { blocks: BlockRange::only(block.number), ..TransactionFilter::default() };
    let (mut total, mut offset) = (U256::ZERO, 0);
    while offset < u64::from(block.tx_count) {
        let part = PageRequest { offset, limit: PART, order: Order::OldestFirst };
        let found = app.services.chain.list_transactions(&filter, part).await?.items;
        // Fees of a part of the block would look like those of all of it.
        if found.is_empty() {
            return Err(DialectError::Moved);
        }
        offset += found.len() as u64;
        for transaction in found {
            total += Fee::of(&transaction, block.base_fee_per_gas).tip();
        }
    }
    Ok(total)
}
