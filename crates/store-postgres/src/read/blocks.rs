use domain::{Address, Block, BlockGasPrice, BlockId, BlockRange, BlockRef, Coverage, Order, Page, PageRequest, Stats};
use store::{ChainTotals, StoreError};
use tokio_postgres::Row;

use super::pages::{clamped_range, page_of};
use crate::{
    chain::{Chain, TOTALS, TOTALS_COUNT},
    database::{Connection, find, query},
    internal::{PROGRESS, progress_from_row},
    numeric::Numeric,
    rows::{RowExt, clamped, int8, limit, to_u128},
};

/// Non-empty blocks included in the average gas price.
const GAS_PRICE_BLOCKS: usize = 100;

/// The columns of a block `b` with its miner `m`.
const BLOCK: &str = "b.number, b.hash, b.parent_hash, b.timestamp, m.address, b.tx_count, b.gas_used, b.gas_limit,
    b.base_fee_per_gas, b.size";

fn block_from_row(row: &Row, first: usize) -> Result<Block, StoreError> {
    let base_fee = row.value::<Option<Numeric>>(first + 8)?;
    Ok(Block {
        number: row.u64(first)?,
        hash: row.hash(first + 1)?,
        parent_hash: row.hash(first + 2)?,
        timestamp: row.u64(first + 3)?,
        miner: row.address(first + 4)?,
        tx_count: row.u32(first + 5)?,
        gas_used: row.u64(first + 6)?,
        gas_limit: row.u64(first + 7)?,
        base_fee_per_gas: base_fee.map(to_u128).transpose()?,
        size: row.u64(first + 9)?,
    })
}

pub(crate) async fn find_block(client: &dyn Connection, id: BlockId) -> Result<Option<Block>, StoreError> {
    let select = format!("select {BLOCK} from block b join address m on m.id = b.miner");
    let row = match id {
        BlockId::Number(number) => find(client, &format!("{select} where b.number = $1"), &[&int8(number)]).await?,
        BlockId::Hash(hash) => find(client, &format!("{select} where b.hash = $1"), &[&hash.as_slice()]).await?,
    };
    row.map(|row| block_from_row(&row, 0)).transpose()
}

/// The rows of a page of block numbers.
fn select_blocks(page: &str) -> String {
    format!(
        "with page as materialized ({page})
        select page.total, u.id, {BLOCK} from page
        left join lateral unnest(page.ids) with ordinality u(id, n) on true
        left join block b on b.number = u.id left join address m on m.id = b.miner order by u.n"
    )
}

pub(crate) async fn list_blocks(
    client: &dyn Connection,
    range: BlockRange,
    page: PageRequest,
) -> Result<Page<Block>, StoreError> {
    let sql = select_blocks(
        "select p.total, p.ids from chain c cross join lateral span_page(
            greatest($1, c.first_block), least($2, c.tip_number) + 1, $3, $4, $5
        ) p where c.tip_number is not null",
    );
    let (from, to) = clamped_range(range);
    let newest_first = page.order == Order::NewestFirst;
    let rows = query(client, &sql, &[&from, &to, &clamped(page.offset), &i64::from(page.limit), &newest_first]).await?;
    page_of(&rows, |row| block_from_row(row, 2))
}

pub(crate) async fn list_mined_blocks(
    client: &dyn Connection,
    miner: Address,
    range: BlockRange,
    page: PageRequest,
) -> Result<Page<Block>, StoreError> {
    let sql = select_blocks(
        "select p.total, p.ids from address a cross join chain c cross join lateral address_mined_page(
            a.id, 0, greatest($1, c.first_block), least($2, c.tip_number) + 1, $3, $4, $5
        ) p where a.address = $6 and c.tip_number is not null",
    );
    let (from, to) = clamped_range(range);
    let (offset, limit, newest_first) = (clamped(page.offset), i64::from(page.limit), page.order == Order::NewestFirst);
    let rows = query(client, &sql, &[&from, &to, &offset, &limit, &newest_first, &miner.as_slice()]).await?;
    page_of(&rows, |row| block_from_row(row, 2))
}

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
        average_gas_price: totals.mean_gas_price_since(&before).unwrap_or_default(),
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
