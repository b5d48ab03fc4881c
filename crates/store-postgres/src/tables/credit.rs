//! What the protocol paid: how it is written, and how that of a page is read.

use deadpool_postgres::Transaction;
use domain::{BlockNumber, Credit, CreditEvent, CreditSource};
use store::StoreError;
use tokio_postgres::{Row, types::Type};

use super::Rows;
use crate::{
    binary_copy::copy,
    lists::AddressId,
    numeric::Numeric,
    rows::{RowExt, int8},
};

const WITHDRAWAL: i16 = 0;
const BLOCK_REWARD: i16 = 1;
const UNCLE_REWARD: i16 = 2;
const MINT: i16 = 3;
const GENESIS: i16 = 4;

/// The columns of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SourceColumns {
    kind: i16,
    number: Option<u64>,
    validator: Option<u64>,
    hash: Option<Vec<u8>>,
    timestamp: Option<u64>,
}

impl From<CreditSource> for SourceColumns {
    fn from(source: CreditSource) -> Self {
        let none = Self { kind: BLOCK_REWARD, number: None, validator: None, hash: None, timestamp: None };
        match source {
            CreditSource::Withdrawal { index, validator } => {
                Self { kind: WITHDRAWAL, number: Some(index), validator: Some(validator), ..none }
            }
            CreditSource::BlockReward => none,
            CreditSource::Genesis => Self { kind: GENESIS, ..none },
            CreditSource::UncleReward { number, hash, timestamp } => Self {
                kind: UNCLE_REWARD,
                number: Some(number),
                hash: Some(hash.to_vec()),
                timestamp: Some(timestamp),
                ..none
            },
            CreditSource::Mint { tx_index } => Self { kind: MINT, number: Some(tx_index.into()), ..none },
        }
    }
}

#[derive(Debug)]
pub(crate) struct CreditCopy {
    pub(crate) id: u64,
    pub(crate) block: BlockNumber,
    pub(crate) to: AddressId,
    pub(crate) event: CreditEvent,
}

pub(crate) async fn copy_credits(tx: &Transaction<'_>, rows: &[CreditCopy]) -> Result<(), StoreError> {
    copy(tx, "credit", rows, |row, out| {
        let source = SourceColumns::from(row.event.source);
        out.row(&[
            (Type::INT8, &int8(row.id)),
            (Type::INT8, &int8(row.block)),
            (Type::INT8, &int8(row.to)),
            (Type::NUMERIC, &Numeric::from(row.event.amount)),
            (Type::INT2, &source.kind),
            (Type::INT8, &source.number.map(int8)),
            (Type::INT8, &source.validator.map(int8)),
            (Type::BYTEA, &source.hash),
            (Type::INT8, &source.timestamp.map(int8)),
        ])
    })
    .await
}

pub(crate) const CREDITS: Rows = Rows {
    columns: "r.address, d.amount, d.kind, d.number, d.validator, d.hash, d.timestamp, d.block, b.timestamp",
    joins: "left join credit d on d.id = u.id left join address r on r.id = d.receiver
        left join block b on b.number = d.block",
};

pub(crate) fn credit_from_row(row: &Row) -> Result<Credit, StoreError> {
    let missing = || StoreError::Corrupt("a credit without a number of its source");
    let number = || row.option_u64(5)?.ok_or_else(missing);
    let source = match row.value::<i16>(4)? {
        WITHDRAWAL => CreditSource::Withdrawal { index: number()?, validator: row.option_u64(6)?.ok_or_else(missing)? },
        BLOCK_REWARD => CreditSource::BlockReward,
        UNCLE_REWARD => {
            let timestamp = row.option_u64(8)?.ok_or_else(missing)?;
            CreditSource::UncleReward { number: number()?, hash: row.hash(7)?, timestamp }
        }
        GENESIS => CreditSource::Genesis,
        MINT => CreditSource::Mint { tx_index: u32::try_from(number()?).map_err(|_| missing())? },
        _ => return Err(StoreError::Corrupt("a credit from an unknown source")),
    };
    Ok(Credit {
        event: CreditEvent { to: row.address(2)?, amount: row.amount(3)?, source },
        block_number: row.u64(9)?,
        timestamp: row.u64(10)?,
    })
}
