//! New rows, in the binary format of COPY.

use std::pin::pin;

use bytes::{BufMut, Bytes, BytesMut};
use deadpool_postgres::Transaction;
use domain::{
    Address, B256, Balance, Block, BlockNumber, Charges, InternalEvent, Payment, PoolStyle, TradeDirection, TradeEvent,
    TransferEvent, U256,
};
use futures::SinkExt;
use store::{BoxError, ChainTotals, StoreError};
use tokio_postgres::types::{IsNull, ToSql, Type};

use super::{log_packs::LogPack, log_source::LogSource};
use crate::{
    error::store_error,
    internal::KINDS,
    lists::{AddressId, ListTable, Run},
    numeric::Numeric,
    pools::style_number,
    rows::int8,
    tokens::kind_number,
};

#[derive(Debug)]
pub(super) struct AddressCopy {
    pub(super) id: AddressId,
    pub(super) address: Address,
    pub(super) first_seen: BlockNumber,
}

#[derive(Debug)]
pub(super) struct BlockCopy {
    pub(super) block: Block,
    pub(super) miner: AddressId,
    pub(super) before: ChainTotals,
}

#[derive(Debug)]
pub(super) struct TransactionCopy {
    pub(super) id: u64,
    pub(super) tx: domain::Transaction,
    pub(super) from: AddressId,
    pub(super) to: Option<AddressId>,
    pub(super) created: Option<AddressId>,
}

#[derive(Debug)]
pub(super) struct TransferCopy {
    pub(super) id: u64,
    pub(super) tx: u64,
    pub(super) token: AddressId,
    pub(super) from: AddressId,
    pub(super) to: AddressId,
    pub(super) event: TransferEvent,
    pub(super) shortfall: Option<Balance>,
    pub(super) nft_shortfall: Option<Balance>,
}

#[derive(Debug)]
pub(super) struct NftCopy {
    pub(super) id: u64,
    pub(super) token: AddressId,
    pub(super) token_id: U256,
    pub(super) owner: Option<AddressId>,
}

#[derive(Debug)]
pub(super) struct InternalCopy {
    pub(super) id: i64,
    pub(super) tx: u64,
    /// As a party.
    pub(super) from: u64,
    pub(super) to: Option<u64>,
    pub(super) event: InternalEvent,
}

#[derive(Debug)]
pub(super) struct TradeCopy {
    pub(super) id: u64,
    pub(super) tx: u64,
    pub(super) pool: AddressId,
    pub(super) event: TradeEvent,
}

#[derive(Debug)]
pub(super) struct PoolCopy {
    pub(super) id: AddressId,
    pub(super) style: PoolStyle,
    pub(super) factory: AddressId,
    pub(super) token0: AddressId,
    pub(super) token1: AddressId,
    pub(super) first_block: BlockNumber,
}

/// Bytes that are sent at once.
const PART: usize = 256 * 1024;

/// Rows in the binary format of COPY.
struct Encoder<'a> {
    types: &'a [Type],
    bytes: BytesMut,
}

impl<'a> Encoder<'a> {
    fn new(types: &'a [Type]) -> Self {
        let mut bytes = BytesMut::with_capacity(PART + 4096);
        bytes.put_slice(b"PGCOPY\n\xff\r\n\0");
        // No flags, no extension of the header.
        bytes.put_u64(0);
        Self { types, bytes }
    }

    fn row(&mut self, values: &[&(dyn ToSql + Sync)]) -> Result<(), BoxError> {
        self.bytes.put_i16(i16::try_from(values.len())?);
        for (value, of_type) in values.iter().zip(self.types) {
            let start = self.bytes.len();
            self.bytes.put_i32(-1);
            if let IsNull::No = value.to_sql_checked(of_type, &mut self.bytes)? {
                let length = i32::try_from(self.bytes.len() - start - 4)?;
                if let Some(place) = self.bytes.get_mut(start..start + 4) {
                    place.copy_from_slice(&length.to_be_bytes());
                }
            }
        }
        Ok(())
    }
}

/// Copies rows into a table. `write` encodes one row.
async fn copy<R>(
    tx: &Transaction<'_>,
    table: &str,
    types: &[Type],
    rows: &[R],
    write: impl Fn(&R, &mut Encoder<'_>) -> Result<(), BoxError>,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let statement =
        tx.prepare_cached(&format!("copy {table} from stdin (format binary)")).await.map_err(store_error)?;
    let mut sink = pin!(tx.copy_in::<_, Bytes>(&statement).await.map_err(store_error)?);
    let mut encoder = Encoder::new(types);
    for row in rows {
        write(row, &mut encoder).map_err(StoreError::Backend)?;
        if encoder.bytes.len() >= PART {
            sink.send(encoder.bytes.split().freeze()).await.map_err(store_error)?;
        }
    }
    encoder.bytes.put_i16(-1);
    sink.send(encoder.bytes.freeze()).await.map_err(store_error)?;
    sink.as_mut().finish().await.map_err(store_error)?;
    Ok(())
}

pub(super) async fn addresses(tx: &Transaction<'_>, rows: &[AddressCopy]) -> Result<(), StoreError> {
    copy(tx, "address", &[Type::INT8, Type::BYTEA, Type::INT8], rows, |row, out| {
        out.row(&[&int8(row.id), &row.address.as_slice(), &int8(row.first_seen)])
    })
    .await
}

pub(super) async fn blocks(tx: &Transaction<'_>, rows: &[BlockCopy]) -> Result<(), StoreError> {
    let types = [
        Type::INT8,
        Type::BYTEA,
        Type::BYTEA,
        Type::INT8,
        Type::INT8,
        Type::INT4,
        Type::INT8,
        Type::INT8,
        Type::NUMERIC,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::NUMERIC,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::NUMERIC,
        Type::NUMERIC,
        Type::INT8,
        Type::INT8,
        Type::INT8,
    ];
    copy(tx, "block", &types, rows, |BlockCopy { block, miner, before }, out| {
        out.row(&[
            &int8(block.number),
            &block.hash.as_slice(),
            &block.parent_hash.as_slice(),
            &int8(block.timestamp),
            &int8(*miner),
            &block.tx_count.cast_signed(),
            &int8(block.gas_used),
            &int8(block.gas_limit),
            &block.base_fee_per_gas.map(Numeric::from),
            &int8(block.size),
            &int8(before.transactions),
            &int8(before.transfers),
            &int8(before.trades),
            &int8(before.addresses),
            &int8(before.tokens),
            &int8(before.filled_blocks),
            &int8(before.untraced_blocks),
            &Numeric::from(before.gas_prices),
            &int8(before.logs),
            &int8(before.log_topics),
            &int8(before.log_sources),
            &int8(before.nfts),
            &int8(before.approvals),
            &int8(before.gas_used),
            &Numeric::from(before.fees),
            &Numeric::from(before.burnt_fees),
            &int8(before.contracts),
            &int8(before.active_addresses),
            &int8(before.unpriced_transactions),
        ])
    })
    .await
}

pub(super) async fn transactions(tx: &Transaction<'_>, rows: &[TransactionCopy]) -> Result<(), StoreError> {
    let types = [
        Type::INT8,
        Type::BYTEA,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::NUMERIC,
        Type::INT8,
        Type::INT8,
        Type::NUMERIC,
        Type::BOOL,
        Type::BYTEA,
        Type::NUMERIC,
        Type::NUMERIC,
        Type::NUMERIC,
        Type::BYTEA,
        Type::INT8,
        Type::INT8,
        Type::BYTEA,
    ];
    copy(tx, "transaction", &types, rows, |TransactionCopy { id, tx, from, to, created }, out| {
        let charges = tx.charges.as_deref();
        let charged = |of: fn(&Charges) -> U256| charges.map(of).filter(|fee| !fee.is_zero()).map(Numeric::from);
        let currency = match charges.map(|charges| &charges.payment) {
            None | Some(Payment::Coin) => None,
            Some(Payment::Token(token)) => Some(token.as_slice()),
            Some(Payment::Nothing) => Some(&[][..]),
        };
        out.row(&[
            &int8(*id),
            &tx.hash.as_slice(),
            &int8(tx.block_number),
            &int8(*from),
            &to.map(int8),
            &created.map(int8),
            &Numeric::from(tx.value),
            &int8(tx.nonce),
            &int8(tx.gas_used),
            &Numeric::from(tx.gas_price),
            &tx.succeeded,
            &tx.method.as_ref().map(|method| method.as_slice()),
            &charged(|charges| charges.blob),
            &charged(|charges| charges.l1),
            &charged(|charges| charges.operator),
            &currency,
            &tx.gas_limit.map(int8),
            &tx.cumulative_gas_used.map(int8),
            &tx.input.as_ref().map(|input| -> &[u8] { input }),
        ])
    })
    .await
}

pub(super) async fn transfers(tx: &Transaction<'_>, rows: &[TransferCopy]) -> Result<(), StoreError> {
    let types = [
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT2,
        Type::INT4,
        Type::INT4,
        Type::NUMERIC,
        Type::NUMERIC,
        Type::NUMERIC,
        Type::NUMERIC,
    ];
    copy(tx, "transfer", &types, rows, |row, out| {
        out.row(&[
            &int8(row.id),
            &int8(row.tx),
            &int8(row.token),
            &int8(row.from),
            &int8(row.to),
            &kind_number(row.event.kind),
            &row.event.log_index.cast_signed(),
            &row.event.batch_index.cast_signed(),
            &Numeric::from(row.event.value),
            &row.event.token_id.map(Numeric::from),
            &row.shortfall.map(Numeric),
            &row.nft_shortfall.map(Numeric),
        ])
    })
    .await
}

pub(super) async fn log_topics(tx: &Transaction<'_>, rows: &[(u64, B256)]) -> Result<(), StoreError> {
    copy(tx, "log_topic", &[Type::INT8, Type::BYTEA], rows, |(id, topic), out| {
        out.row(&[&int8(*id), &topic.as_slice()])
    })
    .await
}

pub(super) async fn log_sources(tx: &Transaction<'_>, rows: &[(u64, LogSource)]) -> Result<(), StoreError> {
    copy(tx, "log_source", &[Type::INT8, Type::INT8, Type::INT8], rows, |(id, source), out| {
        out.row(&[&int8(*id), &int8(source.emitter), &source.topic_column()])
    })
    .await
}

pub(super) async fn log_packs(tx: &Transaction<'_>, rows: &[LogPack]) -> Result<(), StoreError> {
    let types = [Type::INT8, Type::INT8, Type::INT4, Type::BYTEA, Type::BYTEA];
    copy(tx, "log_pack", &types, rows, |row, out| {
        out.row(&[&int8(row.id), &int8(row.tx), &row.log_index.cast_signed(), &row.entries(), &row.data])
    })
    .await
}

pub(super) async fn nfts(tx: &Transaction<'_>, rows: &[NftCopy]) -> Result<(), StoreError> {
    copy(tx, "nft", &[Type::INT8, Type::INT8, Type::NUMERIC, Type::INT8], rows, |row, out| {
        out.row(&[&int8(row.id), &int8(row.token), &Numeric::from(row.token_id), &row.owner.map(int8)])
    })
    .await
}

pub(super) async fn trades(tx: &Transaction<'_>, rows: &[TradeCopy]) -> Result<(), StoreError> {
    let types = [Type::INT8, Type::INT8, Type::INT8, Type::INT4, Type::BOOL, Type::NUMERIC, Type::NUMERIC];
    copy(tx, "trade", &types, rows, |row, out| {
        out.row(&[
            &int8(row.id),
            &int8(row.tx),
            &int8(row.pool),
            &row.event.log_index.cast_signed(),
            &(row.event.direction == TradeDirection::ZeroForOne),
            &Numeric::from(row.event.amount_in),
            &Numeric::from(row.event.amount_out),
        ])
    })
    .await
}

pub(super) async fn pools(tx: &Transaction<'_>, rows: &[PoolCopy]) -> Result<(), StoreError> {
    let types = [Type::INT8, Type::INT2, Type::INT8, Type::INT8, Type::INT8, Type::INT8];
    copy(tx, "pool", &types, rows, |row, out| {
        let PoolCopy { id, style, factory, token0, token1, first_block } = row;
        out.row(&[
            &int8(*id),
            &style_number(*style),
            &int8(*factory),
            &int8(*token0),
            &int8(*token1),
            &int8(*first_block),
        ])
    })
    .await
}

pub(super) async fn internal_transactions(tx: &Transaction<'_>, rows: &[InternalCopy]) -> Result<(), StoreError> {
    let types = [
        Type::INT8,
        Type::INT8,
        Type::INT4,
        Type::INT2,
        Type::INT8,
        Type::INT8,
        Type::NUMERIC,
        Type::INT8,
        Type::INT8,
        Type::BYTEA,
    ];
    copy(tx, "internal_transaction", &types, rows, |row, out| {
        let kind = (0_i16..).zip(KINDS).find(|(_, kind)| *kind == row.event.kind).map_or(0, |(number, _)| number);
        out.row(&[
            &row.id,
            &int8(row.tx),
            &row.event.position.cast_signed(),
            &kind,
            &int8(row.from),
            &row.to.map(int8),
            &Numeric::from(row.event.value),
            &int8(row.event.gas),
            &int8(row.event.gas_used),
            &row.event.error.as_ref().map(String::as_bytes),
        ])
    })
    .await
}

pub(crate) async fn runs(tx: &Transaction<'_>, list: ListTable, rows: &[Run]) -> Result<(), StoreError> {
    let types = [Type::INT8, Type::INT8, Type::INT8, Type::INT8, Type::INT8, Type::INT4_ARRAY];
    copy(tx, &format!("{}_run", list.name()), &types, rows, |run, out| {
        out.row(&[
            &int8(run.owner),
            &run.first_seq(),
            &run.first(),
            &run.sent_before(),
            &run.received_before(),
            &run.rest(),
        ])
    })
    .await
}
