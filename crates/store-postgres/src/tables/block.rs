//! Blocks, with the totals before each.

use deadpool_postgres::Transaction;
use domain::Block;
use store::{ChainTotals, StoreError};
use tokio_postgres::{Row, types::Type};

use crate::{
    binary_copy::copy,
    lists::AddressId,
    numeric::Numeric,
    rows::{RowExt, int8, to_u128},
};

#[derive(Debug)]
pub(crate) struct BlockCopy {
    pub(crate) block: Block,
    pub(crate) miner: AddressId,
    pub(crate) before: ChainTotals,
}

pub(crate) async fn copy_blocks(tx: &Transaction<'_>, rows: &[BlockCopy]) -> Result<(), StoreError> {
    copy(tx, "block", rows, |BlockCopy { block, miner, before }, out| {
        out.row(&[
            (Type::INT8, &int8(block.number)),
            (Type::BYTEA, &block.hash.as_slice()),
            (Type::BYTEA, &block.parent_hash.as_slice()),
            (Type::INT8, &int8(block.timestamp)),
            (Type::INT8, &int8(*miner)),
            (Type::INT4, &block.tx_count.cast_signed()),
            (Type::INT8, &int8(block.gas_used)),
            (Type::INT8, &int8(block.gas_limit)),
            (Type::NUMERIC, &block.base_fee_per_gas.map(Numeric::from)),
            (Type::INT8, &int8(block.size)),
            (Type::INT8, &int8(before.transactions)),
            (Type::INT8, &int8(before.transfers)),
            (Type::INT8, &int8(before.trades)),
            (Type::INT8, &int8(before.addresses)),
            (Type::INT8, &int8(before.tokens)),
            (Type::INT8, &int8(before.filled_blocks)),
            (Type::INT8, &int8(before.untraced_blocks)),
            (Type::NUMERIC, &Numeric::from(before.gas_prices)),
            (Type::INT8, &int8(before.logs)),
            (Type::INT8, &int8(before.log_topics)),
            (Type::INT8, &int8(before.log_sources)),
            (Type::INT8, &int8(before.nfts)),
            (Type::INT8, &int8(before.approvals)),
            (Type::INT8, &int8(before.gas_used)),
            (Type::NUMERIC, &Numeric::from(before.fees)),
            (Type::NUMERIC, &Numeric::from(before.burnt_fees)),
            (Type::INT8, &int8(before.contracts)),
            (Type::INT8, &int8(before.active_addresses)),
            (Type::INT8, &int8(before.unpriced_transactions)),
            (Type::INT8, &int8(before.credits)),
        ])
    })
    .await
}

/// The columns of a block `b` with its miner `m`.
pub(crate) const BLOCK: &str =
    "b.number, b.hash, b.parent_hash, b.timestamp, m.address, b.tx_count, b.gas_used, b.gas_limit,
    b.base_fee_per_gas, b.size";

pub(crate) fn block_from_row(row: &Row, first: usize) -> Result<Block, StoreError> {
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
