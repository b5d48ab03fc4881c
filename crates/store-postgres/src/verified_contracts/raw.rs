//! Reads and writes verified contracts for files of records.

use deadpool_postgres::Transaction;
use domain::{Address, Balance, JobId};
use store::{
    DeploymentRecord, JobRecord, Record, RecordPosition, StoreError, VerifiedCodeRecord, VerifiedContractRecord,
};

use super::{RECORD, deployment_from_row, jobs, put_code, put_deployment, record_from_row};
use crate::{
    database::{Connection, execute, query},
    ranks::{RankMoves, RankedSet, id_tie},
    read,
    rows::{RowExt, int8, limit, to_address},
};

/// Sources can be megabytes long.
const CODES_AT_ONCE: usize = 16;

pub(crate) async fn read_codes(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let (hash, only_at) = match after {
        Some(RecordPosition::VerifiedCode(hash, only_at)) => {
            (hash.to_vec(), only_at.map(|address| address.to_vec()).unwrap_or_default())
        }
        // Below every other hash.
        _ => (Vec::new(), Vec::new()),
    };
    let sql = format!(
        "select {RECORD}, code_hash from verified_code where (code_hash, only_at) > ($1, $2)
        order by code_hash, only_at limit $3"
    );
    let rows = query(client, &sql, &[&hash, &only_at, &limit(count.min(CODES_AT_ONCE))]).await?;
    let mut records = Vec::with_capacity(rows.len());
    for row in &rows {
        let (summary, code_hash) = (record_from_row(row)?, row.hash(8)?);
        let only_at = match summary.only_at.as_slice() {
            [] => None,
            address => Some(to_address(address)?),
        };
        let origin = summary.origin;
        let code = summary.detail(client, code_hash).await?;
        records.push(Record::VerifiedCode(Box::new(VerifiedCodeRecord { only_at, origin, code })));
    }
    Ok(records)
}

pub(crate) async fn read_contracts(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::VerifiedContract(number)) => int8(number),
        _ => -1,
    };
    let sql = "select number, address, code_hash from verified_contract where number > $1 order by number limit $2";
    let rows = query(client, sql, &[&after, &limit(count)]).await?;
    let contract = |row: &tokio_postgres::Row| -> Result<Record, StoreError> {
        let (number, address, code_hash) = (row.u64(0)?, row.address(1)?, row.hash(2)?);
        Ok(Record::VerifiedContract(VerifiedContractRecord { number, address, code_hash }))
    };
    rows.iter().map(contract).collect()
}

pub(crate) async fn read_deployments(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let (address, hash) = match after {
        Some(RecordPosition::Deployment(address, hash)) => (address.to_vec(), hash.to_vec()),
        _ => (Vec::new(), Vec::new()),
    };
    let sql = "select tx_hash, block_hash, build, proof_kind, arguments, library_names, library_addresses, address,
            code_hash
        from verified_deployment where (address, code_hash) > ($1, $2) order by address, code_hash limit $3";
    let rows = query(client, sql, &[&address, &hash, &limit(count)]).await?;
    let deployment = |row: &tokio_postgres::Row| -> Result<Record, StoreError> {
        let (address, code_hash): (Address, _) = (row.address(7)?, row.hash(8)?);
        Ok(Record::Deployment(DeploymentRecord { address, code_hash, deployment: deployment_from_row(row)? }))
    };
    rows.iter().map(deployment).collect()
}

pub(crate) async fn read_jobs(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::Job(number)) => int8(number),
        _ => -1,
    };
    let sql = format!(
        "select {}, id, number from verification_job where number > $1 order by number limit $2",
        jobs::COLUMNS
    );
    let rows = query(client, &sql, &[&after, &limit(count)]).await?;
    let job = |row: &tokio_postgres::Row| -> Result<Record, StoreError> {
        let id: [u8; 16] = row.value::<&[u8]>(11)?.try_into().map_err(|_| StoreError::Corrupt("the id of a job"))?;
        Ok(Record::Job(JobRecord { number: row.u64(12)?, job: jobs::job_from_row(JobId::from_bytes(id), row)? }))
    };
    rows.iter().map(job).collect()
}

pub(crate) async fn write_code(tx: &Transaction<'_>, record: &VerifiedCodeRecord) -> Result<(), StoreError> {
    put_code(tx, record.only_at, record.origin, &record.code).await
}

/// Also lists the contract, if the index knows it with this code.
pub(crate) async fn write_contract(tx: &Transaction<'_>, contract: &VerifiedContractRecord) -> Result<(), StoreError> {
    let VerifiedContractRecord { number, address, code_hash } = *contract;
    let sql = "insert into verified_contract values ($1, $2, $3) on conflict do nothing";
    let is_new = execute(tx, sql, &[&int8(number), &address.as_slice(), &code_hash.as_slice()]).await? > 0;
    if is_new && read::find_code_hash(tx, address).await? == Some(code_hash) {
        let mut moves = RankMoves::default();
        moves.insert(RankedSet::VerifiedContracts, Balance::ZERO, &id_tie(number));
        moves.write(tx).await?;
    }
    Ok(())
}

pub(crate) async fn write_deployment(tx: &Transaction<'_>, record: &DeploymentRecord) -> Result<(), StoreError> {
    put_deployment(tx, record.address, record.code_hash, &record.deployment).await
}

pub(crate) async fn write_job(tx: &Transaction<'_>, record: &JobRecord) -> Result<(), StoreError> {
    jobs::put_numbered(tx, int8(record.number), &record.job).await
}
