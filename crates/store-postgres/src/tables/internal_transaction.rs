//! Internal transactions: how they are written, and how those of a page are read.

use deadpool_postgres::Transaction;
use domain::{InternalEvent, InternalTransaction};
use store::StoreError;
use tokio_postgres::{Row, types::Type};

use super::Rows;
use crate::{
    binary_copy::copy,
    numeric::Numeric,
    rows::{RowExt, int2, int8},
};

#[derive(Debug)]
pub(crate) struct InternalCopy {
    pub(crate) id: i64,
    pub(crate) tx: u64,
    /// As a party.
    pub(crate) from: u64,
    pub(crate) to: Option<u64>,
    pub(crate) event: InternalEvent,
}

pub(crate) async fn copy_internal_transactions(tx: &Transaction<'_>, rows: &[InternalCopy]) -> Result<(), StoreError> {
    copy(tx, "internal_transaction", rows, |row, out| {
        out.row(&[
            (Type::INT8, &row.id),
            (Type::INT8, &int8(row.tx)),
            (Type::INT4, &row.event.position.cast_signed()),
            (Type::INT2, &int2(row.event.kind)),
            (Type::INT8, &int8(row.from)),
            (Type::INT8, &row.to.map(int8)),
            (Type::NUMERIC, &Numeric::from(row.event.value)),
            (Type::INT8, &int8(row.event.gas)),
            (Type::INT8, &int8(row.event.gas_used)),
            (Type::BYTEA, &row.event.error.as_ref().map(String::as_bytes)),
        ])
    })
    .await
}

pub(crate) const INTERNAL: Rows = Rows {
    columns:
        "x.transaction - b.transactions, x.position, x.kind, f.address, r.address, x.value, x.gas, x.gas_used, x.error,
        t.hash, t.block, b.timestamp",
    joins: "left join internal_transaction x on x.id = u.id left join transaction t on t.id = x.transaction
        left join block b on b.number = t.block left join internal_party f on f.id = x.sender
        left join internal_party r on r.id = x.receiver",
};

pub(crate) fn internal_from_row(row: &Row) -> Result<InternalTransaction, StoreError> {
    let tx_index = u32::try_from(row.value::<i64>(2)?);
    Ok(InternalTransaction {
        event: InternalEvent {
            tx_index: tx_index.map_err(|_| StoreError::Corrupt("an internal transaction outside its block"))?,
            position: row.u32(3)?,
            kind: row.kind(4)?,
            from: row.address(5)?,
            to: row.option_address(6)?,
            value: row.amount(7)?,
            gas: row.u64(8)?,
            gas_used: row.u64(9)?,
            error: row.option_text(10)?,
        },
        tx_hash: row.hash(11)?,
        block_number: row.u64(12)?,
        timestamp: row.u64(13)?,
    })
}
