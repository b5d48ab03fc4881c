//! Reads and writes verified contracts for files of records.

use domain::{Address, B256, JobId};
use store::{
    DeploymentRecord, JobRecord, Record, RecordPosition, StoreError, VerifiedCodeRecord, VerifiedContractRecord,
};

use super::{
    jobs, listing,
    records::{self, INVALID_KEY, Scope, contract_in},
    row::{self, CodeRow},
};
use crate::{
    codec::RowReader,
    engine::{Batch, View},
    keys::{Key, Table, id_bytes, number_in_key},
    ranked::RankMoves,
};

/// Sources can be megabytes long.
const CODES_AT_ONCE: usize = 16;

pub(crate) fn read_codes(view: &View, after: Option<RecordPosition>, limit: usize) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::VerifiedCode(hash, Some(address))) => Key::code_at(&hash, &address).then(&[0]),
        Some(RecordPosition::VerifiedCode(hash, None)) => Key::hash(&hash).then(&[0]),
        _ => Key::EMPTY,
    };
    let rows = view.range_from(Table::VerifiedCode, &from, &Key::EMPTY).take(limit.min(CODES_AT_ONCE));
    rows.map(|found| {
        let (key, summary) = found?;
        let (hash, only_at) = key.split_at_checked(B256::len_bytes()).ok_or(INVALID_KEY)?;
        let hash = B256::try_from(hash).map_err(|_| INVALID_KEY)?;
        let only_at = match only_at {
            [] => None,
            address => Some(Address::try_from(address).map_err(|_| INVALID_KEY)?),
        };
        let detail = view.get(Table::VerifiedCodeDetail, &Key::from_slice(&key).ok_or(INVALID_KEY)?)?;
        let detail = detail.ok_or(StoreError::Corrupt("verified code without its sources"))?;
        let summary = CodeRow::from_row(&summary)?;
        let origin = summary.origin;
        let code = row::read_detail(hash, summary, &detail)?;
        Ok(Record::VerifiedCode(Box::new(VerifiedCodeRecord { only_at, origin, code })))
    })
    .collect()
}

pub(crate) fn read_contracts(
    view: &View,
    after: Option<RecordPosition>,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::VerifiedContract(number)) => Key::id(number + 1),
        _ => Key::EMPTY,
    };
    let rows = view.range_from(Table::VerifiedByNumber, &from, &Key::EMPTY).take(limit);
    rows.map(|row| {
        let (key, row) = row?;
        let (address, code_hash) = contract_in(&row)?;
        let number = number_in_key(&key, 0)?;
        Ok(Record::VerifiedContract(VerifiedContractRecord { number, address, code_hash }))
    })
    .collect()
}

pub(crate) fn read_deployments(
    view: &View,
    after: Option<RecordPosition>,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::Deployment(address, hash)) => Key::contract(&address, &hash).then(&[0]),
        _ => Key::EMPTY,
    };
    let rows = view.range_from(Table::VerifiedDeployment, &from, &Key::EMPTY).take(limit);
    rows.map(|found| {
        let (key, deployment) = found?;
        let (address, code_hash) = contract_in(&key)?;
        let deployment = row::read_deployment(&deployment)?;
        Ok(Record::Deployment(DeploymentRecord { address, code_hash, deployment }))
    })
    .collect()
}

pub(crate) fn read_jobs(view: &View, after: Option<RecordPosition>, limit: usize) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::Job(number)) => Key::id(number + 1),
        _ => Key::EMPTY,
    };
    let rows = view.range_from(Table::VerificationJobByNumber, &from, &Key::EMPTY).take(limit);
    rows.map(|row| {
        let (key, row) = row?;
        let id = JobId::from_bytes(RowReader::new(&row).array()?);
        let job = jobs::find(view, id)?.ok_or(StoreError::Corrupt("a numbered verification job is missing"))?;
        Ok(Record::Job(JobRecord { number: number_in_key(&key, 0)?, job }))
    })
    .collect()
}

pub(crate) fn write_code(batch: &mut Batch, record: &VerifiedCodeRecord) {
    match record.only_at {
        None => records::put(batch, Scope::Everywhere, record.origin, &record.code),
        // Such code was verified at this address.
        Some(address) => records::put(batch, Scope::ThisAddress, address, &record.code),
    }
}

/// Also lists the contracts that the index knows with this code. To be called under the lock of the list.
pub(crate) fn write_contracts<'a>(
    view: &View,
    batch: &mut Batch,
    contracts: impl Iterator<Item = &'a VerifiedContractRecord>,
) -> Result<(), StoreError> {
    let mut moves = RankMoves::default();
    for VerifiedContractRecord { number, address, code_hash } in contracts {
        if listing::find_number(view, address, code_hash)?.is_some() {
            continue;
        }
        let contract = Key::contract(address, code_hash);
        batch.put(Table::VerifiedNumber, &contract, id_bytes(*number).as_slice());
        batch.put(Table::VerifiedByNumber, &Key::id(*number), contract.as_slice());
        listing::insert(view, batch, &mut moves, *number, address, *code_hash)?;
    }
    moves.write(view, batch)
}

pub(crate) fn write_deployment(batch: &mut Batch, record: &DeploymentRecord) {
    records::put_deployment(batch, &record.address, &record.code_hash, &record.deployment);
}

pub(crate) fn write_job(batch: &mut Batch, record: &JobRecord) {
    jobs::put_numbered(batch, record.number, &record.job);
}
