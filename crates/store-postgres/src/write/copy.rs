//! New rows of tables that are written only, or read in parts.

use deadpool_postgres::Transaction;
use domain::{Address, B256, BlockNumber, U256};
use store::StoreError;
use tokio_postgres::types::Type;

use super::{log_packs::LogPack, log_source::LogSource};
use crate::{
    binary_copy::copy,
    lists::{AddressId, ListTable, Run},
    numeric::Numeric,
    rows::int8,
};

#[derive(Debug)]
pub(super) struct AddressCopy {
    pub(super) id: AddressId,
    pub(super) address: Address,
    pub(super) first_seen: BlockNumber,
}

#[derive(Debug)]
pub(super) struct NftCopy {
    pub(super) id: u64,
    pub(super) token: AddressId,
    pub(super) token_id: U256,
    pub(super) owner: Option<AddressId>,
}

pub(super) async fn addresses(tx: &Transaction<'_>, rows: &[AddressCopy]) -> Result<(), StoreError> {
    copy(tx, "address", rows, |row, out| {
        out.row(&[
            (Type::INT8, &int8(row.id)),
            (Type::BYTEA, &row.address.as_slice()),
            (Type::INT8, &int8(row.first_seen)),
        ])
    })
    .await
}

pub(super) async fn log_topics(tx: &Transaction<'_>, rows: &[(u64, B256)]) -> Result<(), StoreError> {
    copy(tx, "log_topic", rows, |(id, topic), out| {
        out.row(&[(Type::INT8, &int8(*id)), (Type::BYTEA, &topic.as_slice())])
    })
    .await
}

pub(super) async fn log_sources(tx: &Transaction<'_>, rows: &[(u64, LogSource)]) -> Result<(), StoreError> {
    copy(tx, "log_source", rows, |(id, source), out| {
        out.row(&[(Type::INT8, &int8(*id)), (Type::INT8, &int8(source.emitter)), (Type::INT8, &source.topic_column())])
    })
    .await
}

pub(super) async fn log_packs(tx: &Transaction<'_>, rows: &[LogPack]) -> Result<(), StoreError> {
    copy(tx, "log_pack", rows, |row, out| {
        out.row(&[
            (Type::INT8, &int8(row.id)),
            (Type::INT8, &int8(row.tx)),
            (Type::INT4, &row.log_index.cast_signed()),
            (Type::BYTEA, &row.entries()),
            (Type::BYTEA, &row.data),
        ])
    })
    .await
}

pub(super) async fn nfts(tx: &Transaction<'_>, rows: &[NftCopy]) -> Result<(), StoreError> {
    copy(tx, "nft", rows, |row, out| {
        out.row(&[
            (Type::INT8, &int8(row.id)),
            (Type::INT8, &int8(row.token)),
            (Type::NUMERIC, &Numeric::from(row.token_id)),
            (Type::INT8, &row.owner.map(int8)),
        ])
    })
    .await
}

pub(crate) async fn runs(tx: &Transaction<'_>, list: ListTable, rows: &[Run]) -> Result<(), StoreError> {
    copy(tx, &format!("{}_run", list.name()), rows, |run, out| {
        out.row(&[
            (Type::INT8, &int8(run.owner)),
            (Type::INT8, &run.first_seq()),
            (Type::INT8, &run.first()),
            (Type::INT8, &run.sent_before()),
            (Type::INT8, &run.received_before()),
            (Type::INT4_ARRAY, &run.rest()),
        ])
    })
    .await
}
