//! Transactions: how they are written, and how those of a page are read.

use deadpool_postgres::Transaction as DatabaseTransaction;
use domain::{Address, Bytes, Charges, Payment, Selector, Transaction, U256};
use store::StoreError;
use tokio_postgres::{Row, types::Type};

use super::Rows;
use crate::{
    binary_copy::copy,
    lists::AddressId,
    numeric::Numeric,
    rows::{RowExt, int8, to_u256},
};

#[derive(Debug)]
pub(crate) struct TransactionCopy {
    pub(crate) id: u64,
    pub(crate) tx: Transaction,
    pub(crate) from: AddressId,
    pub(crate) to: Option<AddressId>,
    pub(crate) created: Option<AddressId>,
}

pub(crate) async fn copy_transactions(
    tx: &DatabaseTransaction<'_>,
    rows: &[TransactionCopy],
) -> Result<(), StoreError> {
    copy(tx, "transaction", rows, |TransactionCopy { id, tx, from, to, created }, out| {
        let charges = tx.charges.as_deref();
        let charged = |of: fn(&Charges) -> U256| charges.map(of).filter(|fee| !fee.is_zero()).map(Numeric::from);
        let currency = match charges.map(|charges| &charges.payment) {
            None | Some(Payment::Coin) => None,
            Some(Payment::Token(token)) => Some(token.as_slice()),
            Some(Payment::Nothing) => Some(&[][..]),
        };
        out.row(&[
            (Type::INT8, &int8(*id)),
            (Type::BYTEA, &tx.hash.as_slice()),
            (Type::INT8, &int8(tx.block_number)),
            (Type::INT8, &int8(*from)),
            (Type::INT8, &to.map(int8)),
            (Type::INT8, &created.map(int8)),
            (Type::NUMERIC, &Numeric::from(tx.value)),
            (Type::INT8, &int8(tx.nonce)),
            (Type::INT8, &int8(tx.gas_used)),
            (Type::NUMERIC, &Numeric::from(tx.gas_price)),
            (Type::BOOL, &tx.status_known.then_some(tx.succeeded)),
            (Type::BYTEA, &tx.method.as_ref().map(|method| method.as_slice())),
            (Type::NUMERIC, &charged(|charges| charges.blob)),
            (Type::NUMERIC, &charged(|charges| charges.l1)),
            (Type::NUMERIC, &charged(|charges| charges.operator)),
            (Type::BYTEA, &currency),
            (Type::INT8, &tx.gas_limit.map(int8)),
            (Type::INT8, &tx.cumulative_gas_used.map(int8)),
            (Type::BYTEA, &tx.input.as_ref().map(|input| -> &[u8] { input })),
        ])
    })
    .await
}

pub(crate) const TRANSACTIONS: Rows = Rows {
    columns:
        "t.hash, t.block, b.hash, t.id - b.transactions, b.timestamp, f.address, r.address, c.address, t.value, t.nonce,
        t.gas_used, t.gas_price, t.succeeded, t.method, t.blob_fee, t.l1_fee, t.operator_fee, t.fee_currency,
        t.gas_limit, t.cumulative_gas_used, t.input",
    joins: "left join transaction t on t.id = u.id left join block b on b.number = t.block
        left join address f on f.id = t.sender left join address r on r.id = t.receiver
        left join address c on c.id = t.created",
};

pub(crate) fn transaction_from_row(row: &Row) -> Result<Transaction, StoreError> {
    let index = row.value::<i64>(5)?;
    let succeeded = row.value::<Option<bool>>(14)?;
    let method = row.value::<Option<&[u8]>>(15)?;
    let method = method.map(|method| Selector::try_from(method).map_err(|_| StoreError::Corrupt("a selector")));
    Ok(Transaction {
        hash: row.hash(2)?,
        block_number: row.u64(3)?,
        block_hash: row.hash(4)?,
        index: u32::try_from(index).map_err(|_| StoreError::Corrupt("a transaction outside its block"))?,
        timestamp: row.u64(6)?,
        from: row.address(7)?,
        to: row.option_address(8)?,
        created: row.option_address(9)?,
        value: row.amount(10)?,
        nonce: row.u64(11)?,
        gas_used: row.u64(12)?,
        gas_limit: row.option_u64(20)?,
        cumulative_gas_used: row.option_u64(21)?,
        gas_price: row.u128(13)?,
        charges: charges_from_row(row, 16)?.boxed(),
        succeeded: succeeded.unwrap_or(true),
        status_known: succeeded.is_some(),
        method: method.transpose()?,
        input: row.value::<Option<&[u8]>>(22)?.map(Bytes::copy_from_slice),
    })
}

fn charges_from_row(row: &Row, first: usize) -> Result<Charges, StoreError> {
    let amount = |column| -> Result<U256, StoreError> {
        Ok(row.value::<Option<Numeric>>(column)?.map(to_u256).transpose()?.unwrap_or_default())
    };
    let payment = match row.value::<Option<&[u8]>>(first + 3)? {
        None => Payment::Coin,
        Some([]) => Payment::Nothing,
        Some(token) => Payment::Token(Address::try_from(token).map_err(|_| StoreError::Corrupt("an address"))?),
    };
    Ok(Charges { blob: amount(first)?, l1: amount(first + 1)?, operator: amount(first + 2)?, payment })
}
