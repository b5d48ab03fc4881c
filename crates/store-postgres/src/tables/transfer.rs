//! Token transfers: how they are written, and how those of a page are read.

use deadpool_postgres::Transaction;
use domain::{Balance, Transfer, TransferEvent};
use store::StoreError;
use tokio_postgres::{Row, types::Type};

use super::Rows;
use crate::{
    binary_copy::copy,
    lists::AddressId,
    numeric::Numeric,
    rows::{RowExt, int2, int8, to_u256},
    tokens::option_decimals,
};

#[derive(Debug)]
pub(crate) struct TransferCopy {
    pub(crate) id: u64,
    pub(crate) tx: u64,
    pub(crate) token: AddressId,
    pub(crate) from: AddressId,
    pub(crate) to: AddressId,
    pub(crate) event: TransferEvent,
    pub(crate) shortfall: Option<Balance>,
    pub(crate) nft_shortfall: Option<Balance>,
}

pub(crate) async fn copy_transfers(tx: &Transaction<'_>, rows: &[TransferCopy]) -> Result<(), StoreError> {
    copy(tx, "transfer", rows, |row, out| {
        out.row(&[
            (Type::INT8, &int8(row.id)),
            (Type::INT8, &int8(row.tx)),
            (Type::INT8, &int8(row.token)),
            (Type::INT8, &int8(row.from)),
            (Type::INT8, &int8(row.to)),
            (Type::INT2, &int2(row.event.kind)),
            (Type::INT4, &row.event.log_index.cast_signed()),
            (Type::INT4, &row.event.batch_index.cast_signed()),
            (Type::NUMERIC, &Numeric::from(row.event.value)),
            (Type::NUMERIC, &row.event.token_id.map(Numeric::from)),
            (Type::NUMERIC, &row.shortfall.map(Numeric)),
            (Type::NUMERIC, &row.nft_shortfall.map(Numeric)),
        ])
    })
    .await
}

pub(crate) const TRANSFERS: Rows = Rows {
    columns: "x.transaction - b.transactions, x.log_index, x.batch_index, a.address, x.kind, f.address, r.address, x.value,
        x.token_id, t.hash, t.block, b.timestamp, k.name, k.symbol, k.decimals",
    joins: "left join transfer x on x.id = u.id left join transaction t on t.id = x.transaction
        left join block b on b.number = t.block left join address a on a.id = x.token left join address f on f.id = x.sender
        left join address r on r.id = x.receiver left join token k on k.id = x.token",
};

pub(crate) fn transfer_from_row(row: &Row) -> Result<Transfer, StoreError> {
    let tx_index = u32::try_from(row.value::<i64>(2)?);
    Ok(Transfer {
        event: TransferEvent {
            tx_index: tx_index.map_err(|_| StoreError::Corrupt("a transfer outside its block"))?,
            log_index: row.u32(3)?,
            batch_index: row.u32(4)?,
            token: row.address(5)?,
            kind: row.kind(6)?,
            from: row.address(7)?,
            to: row.address(8)?,
            value: row.amount(9)?,
            token_id: row.value::<Option<Numeric>>(10)?.map(to_u256).transpose()?,
        },
        tx_hash: row.hash(11)?,
        block_number: row.u64(12)?,
        timestamp: row.u64(13)?,
        token_name: row.option_text(14)?,
        token_symbol: row.option_text(15)?,
        token_decimals: option_decimals(row, 16)?,
    })
}
