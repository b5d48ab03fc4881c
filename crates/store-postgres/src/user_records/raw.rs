//! Reads and writes API keys for files of records.

use deadpool_postgres::Transaction;
use domain::{Address, ApiKey};
use store::{Record, RecordPosition, StoreError, UsedProof};

use super::{KEY, key_from_row};
use crate::{
    database::{Connection, execute, query},
    rows::{RowExt, int8, limit},
};

pub(crate) async fn read_keys(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::ApiKey(id)) => int8(id),
        _ => -1,
    };
    let sql = format!("select {KEY} from api_key where id > $1 order by id limit $2");
    let rows = query(client, &sql, &[&after, &limit(count)]).await?;
    rows.iter().map(|row| Ok(Record::ApiKey(key_from_row(row)?))).collect()
}

pub(crate) async fn read_proofs(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let (owner, signed_at) = match after {
        Some(RecordPosition::UsedProof(owner, signed_at)) => (owner.to_vec(), int8(signed_at)),
        _ => (Vec::new(), -1),
    };
    let sql = "select owner, signed_at from api_key_proof where (owner, signed_at) > ($1, $2)
        order by owner, signed_at limit $3";
    let rows = query(client, sql, &[&owner, &signed_at, &limit(count)]).await?;
    let proof = |row: &tokio_postgres::Row| -> Result<Record, StoreError> {
        let owner: Address = row.address(0)?;
        Ok(Record::UsedProof(UsedProof { owner, signed_at: row.u64(1)? }))
    };
    rows.iter().map(proof).collect()
}

pub(crate) async fn write_key(tx: &Transaction<'_>, key: &ApiKey) -> Result<(), StoreError> {
    let sql = format!(
        "insert into api_key ({KEY}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        on conflict (id) do update set digest = excluded.digest, owner = excluded.owner, prefix = excluded.prefix,
            label = excluded.label, requests_per_minute = excluded.requests_per_minute,
            total_requests = excluded.total_requests, created_at = excluded.created_at,
            last_used_at = excluded.last_used_at, is_active = excluded.is_active"
    );
    execute(
        tx,
        &sql,
        &[
            &int8(key.id),
            &key.digest.as_bytes().as_slice(),
            &key.owner.as_slice(),
            &key.prefix.as_bytes(),
            &key.label.as_bytes(),
            &i64::from(key.requests_per_minute),
            &int8(key.total_requests),
            &int8(key.created_at),
            &int8(key.last_used_at),
            &key.active,
        ],
    )
    .await?;
    Ok(())
}

pub(crate) async fn write_proof(tx: &Transaction<'_>, proof: &UsedProof) -> Result<(), StoreError> {
    let sql = "insert into api_key_proof values ($1, $2) on conflict do nothing";
    execute(tx, sql, &[&proof.owner.as_slice(), &int8(proof.signed_at)]).await?;
    Ok(())
}
