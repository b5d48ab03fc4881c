//! Trades and their pools: how they are written, and how the trades of a page are read.

use deadpool_postgres::Transaction;
use domain::{Address, BlockNumber, Pool, PoolStyle, Trade, TradeDirection, TradeEvent, TradedToken};
use store::StoreError;
use tokio_postgres::{Row, types::Type};

use super::Rows;
use crate::{
    binary_copy::copy,
    lists::AddressId,
    numeric::Numeric,
    rows::{RowExt, int2, int8},
    tokens::option_decimals,
};

#[derive(Debug)]
pub(crate) struct TradeCopy {
    pub(crate) id: u64,
    pub(crate) tx: u64,
    pub(crate) pool: AddressId,
    pub(crate) event: TradeEvent,
}

#[derive(Debug)]
pub(crate) struct PoolCopy {
    pub(crate) id: AddressId,
    pub(crate) style: PoolStyle,
    pub(crate) factory: AddressId,
    pub(crate) token0: AddressId,
    pub(crate) token1: AddressId,
    pub(crate) first_block: BlockNumber,
}

pub(crate) async fn copy_trades(tx: &Transaction<'_>, rows: &[TradeCopy]) -> Result<(), StoreError> {
    copy(tx, "trade", rows, |row, out| {
        out.row(&[
            (Type::INT8, &int8(row.id)),
            (Type::INT8, &int8(row.tx)),
            (Type::INT8, &int8(row.pool)),
            (Type::INT4, &row.event.log_index.cast_signed()),
            (Type::BOOL, &is_zero_for_one(row.event.direction)),
            (Type::NUMERIC, &Numeric::from(row.event.amount_in)),
            (Type::NUMERIC, &Numeric::from(row.event.amount_out)),
        ])
    })
    .await
}

fn is_zero_for_one(direction: TradeDirection) -> bool {
    match direction {
        TradeDirection::ZeroForOne => true,
        TradeDirection::OneForZero => false,
    }
}

pub(crate) async fn copy_pools(tx: &Transaction<'_>, rows: &[PoolCopy]) -> Result<(), StoreError> {
    copy(tx, "pool", rows, |row, out| {
        let PoolCopy { id, style, factory, token0, token1, first_block } = row;
        out.row(&[
            (Type::INT8, &int8(*id)),
            (Type::INT2, &int2(*style)),
            (Type::INT8, &int8(*factory)),
            (Type::INT8, &int8(*token0)),
            (Type::INT8, &int8(*token1)),
            (Type::INT8, &int8(*first_block)),
        ])
    })
    .await
}

pub(crate) const TRADES: Rows = Rows {
    columns:
        "d.transaction - b.transactions, d.log_index, pa.address, d.zero_for_one, d.amount_in, d.amount_out, p.style,
        fa.address, a0.address, a1.address, m.address, t.hash, t.block, b.timestamp, t0.symbol, t0.decimals, t1.symbol,
        t1.decimals",
    joins: "left join trade d on d.id = u.id left join transaction t on t.id = d.transaction
        left join block b on b.number = t.block left join pool p on p.id = d.pool left join address pa on pa.id = d.pool
        left join address fa on fa.id = p.factory left join address a0 on a0.id = p.token0
        left join address a1 on a1.id = p.token1 left join address m on m.id = t.sender
        left join token t0 on t0.id = p.token0 left join token t1 on t1.id = p.token1",
};

pub(crate) fn trade_from_row(row: &Row) -> Result<Trade, StoreError> {
    let tx_index = u32::try_from(row.value::<i64>(2)?);
    let direction = if row.value(5)? { TradeDirection::ZeroForOne } else { TradeDirection::OneForZero };
    let pool = Pool {
        address: row.address(4)?,
        style: row.kind(8)?,
        factory: row.address(9)?,
        token0: row.address(10)?,
        token1: row.address(11)?,
    };
    // A token without transfers has no metadata.
    let traded = |address: Address, column: usize| -> Result<TradedToken, StoreError> {
        Ok(TradedToken { address, symbol: row.option_text(column)?, decimals: option_decimals(row, column + 1)? })
    };
    let (token0, token1) = (traded(pool.token0, 16)?, traded(pool.token1, 18)?);
    let (token_in, token_out) = match direction {
        TradeDirection::ZeroForOne => (token0, token1),
        TradeDirection::OneForZero => (token1, token0),
    };
    Ok(Trade {
        event: TradeEvent {
            tx_index: tx_index.map_err(|_| StoreError::Corrupt("a trade outside its block"))?,
            log_index: row.u32(3)?,
            pool: pool.address,
            direction,
            amount_in: row.amount(6)?,
            amount_out: row.amount(7)?,
        },
        pool,
        maker: row.address(12)?,
        tx_hash: row.hash(13)?,
        block_number: row.u64(14)?,
        timestamp: row.u64(15)?,
        token_in,
        token_out,
    })
}
