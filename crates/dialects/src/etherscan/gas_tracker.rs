//! `module=gastracker`: gas prices of the latest blocks.

use domain::{Block, BlockRange, PageRequest, U256};
use serde_json::json;

use super::{
    answer::{Answer, Failure},
    params::Params,
};
use crate::{app::App, error::DialectError};

/// Blocks whose prices count.
const BLOCKS: u32 = 20;
/// Blocks whose share of used gas is shown.
const SHOWN: usize = 5;
/// The base fee changes by at most this part per block (EIP-1559), and blocks aim at half of their gas limit.
const MAX_CHANGE: u128 = 8;
const ELASTICITY: u128 = 2;
const GWEI: u128 = 1_000_000_000;

/// Prices in wei.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Prices {
    /// None on a chain without base fees.
    base_fee: Option<u128>,
    safe: u128,
    proposed: u128,
    fast: u128,
}

pub(super) async fn dispatch(app: &App, action: &str, params: &Params) -> Result<Answer, Failure> {
    let blocks = async || app.services.chain.list_blocks(BlockRange::ALL, PageRequest::newest(BLOCKS)).await;
    match action {
        "gasoracle" => {
            let blocks = blocks().await?.items;
            let (prices, latest) = (prices(app, &blocks).await?, blocks.first().ok_or(DialectError::NothingIndexed)?);
            let ratios: Vec<String> = blocks.iter().take(SHOWN).map(|block| ratio(block).to_string()).collect();
            Ok(Answer::Result(json!({
                "LastBlock": latest.number.to_string(),
                "SafeGasPrice": gwei(prices.safe),
                "ProposeGasPrice": gwei(prices.proposed),
                "FastGasPrice": gwei(prices.fast),
                // As in all of its lists, an empty text is what is not known.
                "suggestBaseFee": prices.base_fee.map(gwei).unwrap_or_default(),
                "gasUsedRatio": ratios.join(","),
            })))
        }
        "gasestimate" => {
            let price = u128::from(params.number("gasprice")?);
            let blocks = blocks().await?.items;
            let prices = prices(app, &blocks).await?;
            let waited: u64 = match price {
                price if prices.base_fee.is_some_and(|base_fee| price < base_fee) => {
                    return Err(Failure::text("Error! The gas price is below the base fee of the next block"));
                }
                price if price >= prices.fast => 1,
                price if price >= prices.proposed => 2,
                price if price >= prices.safe => 5,
                _ => 10,
            };
            let seconds = block_seconds(&blocks)
                .ok_or_else(|| Failure::text("Error! The time between blocks is unknown: one block is indexed"))?;
            Ok(Answer::text((waited * seconds).to_string()))
        }
        _ => Err(Failure::unknown_action()),
    }
}

async fn prices(app: &App, blocks: &[Block]) -> Result<Prices, Failure> {
    let latest = blocks.first().ok_or(DialectError::NothingIndexed)?;
    let means = app.services.chain.list_gas_prices(BLOCKS).await?;
    let means: Vec<U256> = means.into_iter().filter_map(|block| block.mean).collect();
    // A mean of prices of 128 bits has no more.
    prices_of(next_base_fee(latest), means.into_iter().map(|mean| mean.saturating_to()).collect())
        .ok_or_else(|| Failure::text("Error! No transaction of the newest blocks has a gas price"))
}

/// The lowest, the median and the highest of the mean prices, but not less than the next base fee. None if nothing tells a price.
fn prices_of(base_fee: Option<u128>, mut means: Vec<u128>) -> Option<Prices> {
    means.sort_unstable();
    let price = |index: usize| means.get(index).copied().max(base_fee);
    Some(Prices {
        base_fee,
        safe: price(0)?,
        proposed: price(means.len() / 2)?,
        fast: price(means.len().saturating_sub(1))?,
    })
}

/// The base fee of the block after this one; None on a chain without base fees.
fn next_base_fee(block: &Block) -> Option<u128> {
    let fee = block.base_fee_per_gas?;
    let (used, target) = (u128::from(block.gas_used), u128::from(block.gas_limit) / ELASTICITY);
    if target == 0 {
        return Some(fee);
    }
    let change = |difference: u128| fee.saturating_mul(difference) / target / MAX_CHANGE;
    Some(match used.cmp(&target) {
        std::cmp::Ordering::Equal => fee,
        std::cmp::Ordering::Greater => fee.saturating_add(change(used - target).max(1)),
        std::cmp::Ordering::Less => fee.saturating_sub(change(target - used)),
    })
}

fn ratio(block: &Block) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a ratio for display")]
    let (used, limit) = (block.gas_used as f64, block.gas_limit.max(1) as f64);
    used / limit
}

/// The mean time between blocks, at least a second. None if there are not two blocks.
fn block_seconds(newest_first: &[Block]) -> Option<u64> {
    let (newest, oldest) = (newest_first.first()?, newest_first.last()?);
    let seconds = newest.timestamp.saturating_sub(oldest.timestamp);
    Some(seconds.checked_div(newest.number - oldest.number)?.max(1))
}

/// Wei as a decimal number of gwei.
fn gwei(wei: u128) -> String {
    let (whole, rest) = (wei / GWEI, wei % GWEI);
    let text = format!("{whole}.{rest:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gwei_are_written_without_needless_digits() {
        assert_eq!([0, 1, GWEI, 1_500_000_000].map(gwei), ["0", "0.000000001", "1", "1.5"]);
    }

    #[test]
    fn the_next_base_fee_follows_the_gas_used() {
        let block = |gas_used| Block { gas_used, gas_limit: 200, base_fee_per_gas: Some(800), ..Block::sample() };
        assert_eq!([100, 200, 0, 101].map(|used| next_base_fee(&block(used))), [800, 900, 700, 801].map(Some));
        assert_eq!(next_base_fee(&Block { base_fee_per_gas: None, ..block(1) }), None);
    }

    #[test]
    fn no_price_is_below_the_base_fee() {
        let base_fee = Some(5);
        assert_eq!(prices_of(base_fee, vec![9, 1, 7]), Some(Prices { base_fee, safe: 5, proposed: 7, fast: 9 }));
        assert_eq!(prices_of(base_fee, vec![]), Some(Prices { base_fee, safe: 5, proposed: 5, fast: 5 }));
    }

    #[test]
    fn what_no_block_tells_is_unknown() {
        let base_fee = None;
        assert_eq!(prices_of(base_fee, vec![9, 1, 7]), Some(Prices { base_fee, safe: 1, proposed: 7, fast: 9 }));
        assert_eq!(prices_of(base_fee, vec![]), None);
        let block = |number, timestamp| Block { number, timestamp, ..Block::sample() };
        assert_eq!(block_seconds(&[block(9, 130), block(7, 100)]), Some(15));
        assert_eq!(block_seconds(&[block(9, 130)]), None);
        assert_eq!(block_seconds(&[]), None);
    }
}
