//! The tip and figures of the whole index.

use domain::{BlockGasPrice, BlockRef, Coverage, Stats};
use store::{ChainTotals, StoreError};

use crate::{
    chain::{Chain, TOTALS, TOTALS_COUNT},
    database::{Connection, query},
    internal::{PROGRESS, progress_from_row},
    rows::{RowExt, limit},
};

/// Non-empty blocks included in the average gas price.
const GAS_PRICE_BLOCKS: usize = 100;

pub(crate) async fn find_tip(client: &dyn Connection) -> Result<Option<BlockRef>, StoreError> {
    Ok(Chain::read(client).await?.tip)
}

pub(crate) async fn coverage(client: &dyn Connection) -> Result<Coverage, StoreError> {
    Ok(Coverage { first_block: Chain::read(client).await?.first_block })
}

pub(crate) async fn stats(client: &dyn Connection) -> Result<Stats, StoreError> {
    // One statement: the newest blocks belong to the totals.
    let sql = format!(
        "select c.tip_number, {}, coalesce(b.transactions, 0), coalesce(b.gas_prices, 0),
            coalesce(b.unpriced_transactions, 0), c.first_block, {PROGRESS}
        from chain c cross join internal_progress left join lateral (
            select * from block where tx_count > 0 order by number desc offset $1 limit 1
        ) b on true",
        TOTALS.split(", ").map(|column| format!("c.{column}")).collect::<Vec<_>>().join(", ")
    );
    let row = query(client, &sql, &[&limit(GAS_PRICE_BLOCKS - 1)]).await?.into_iter().next();
    let row = row.ok_or(StoreError::Corrupt("the row of the chain is missing"))?;
    let totals = row.totals(1)?;
    let next = 1 + TOTALS_COUNT;
    let before = ChainTotals {
        transactions: row.u64(next)?,
        gas_prices: row.amount(next + 1)?,
        unpriced_transactions: row.u64(next + 2)?,
        ..ChainTotals::default()
    };
    let progress = progress_from_row(&row, next + 4)?;
    Ok(Stats {
        latest_block: row.option_u64(0)?,
        total_transactions: totals.transactions,
        total_tokens: totals.tokens,
        untraced_blocks: totals.untraced_blocks,
        traced_range: progress
            .zip(row.option_u64(next + 3)?)
            .and_then(|(progress, first)| progress.traced_range(first)),
        average_gas_price: totals.mean_gas_price_since(&before),
    })
}

/// Block rows contain the totals before the block, so the figures of one block are the difference to the next one.
pub(crate) async fn list_gas_prices(client: &dyn Connection, blocks: u32) -> Result<Vec<BlockGasPrice>, StoreError> {
    let mut after = Chain::read(client).await?.totals;
    let sql = format!("select number, {TOTALS} from block order by number desc limit $1");
    let mut prices = Vec::new();
    for row in query(client, &sql, &[&i64::from(blocks)]).await? {
        let before = row.totals(1)?;
        prices.push(BlockGasPrice { block: row.u64(0)?, mean: after.mean_gas_price_since(&before) });
        after = before;
    }
    Ok(prices)
}
