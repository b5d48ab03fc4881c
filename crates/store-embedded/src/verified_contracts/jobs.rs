//! Verification jobs. They are numbered in order of submission, so that the oldest can be deleted.

use domain::{
    CreationCheck, JobFailure, JobId, JobRefusal, JobResult, JobVerdict, MatchKind, UnixMillis, VerificationJob,
};
use store::{JOB_RETENTION, KEPT_JOBS, RowNumber, StoreError};

use crate::{
    codec::{RowReader, RowWriter},
    engine::{Batch, View},
    keys::{Key, Table, number_in_key},
};

/// Jobs that one submission deletes at most: more than one, so that a backlog shrinks.
const DELETED_AT_ONCE: usize = 8;
/// In place of the number of a match.
const NO_MATCH: u8 = 0;
const UNKNOWN: StoreError = StoreError::Corrupt("a verification job of an unknown kind");

pub(super) fn find(view: &View, id: JobId) -> Result<Option<VerificationJob>, StoreError> {
    let row = view.get(Table::VerificationJob, &Key::job(&id))?;
    row.map(|row| read(id, &row).map(|(_, job)| job)).transpose()
}

pub(super) fn put(view: &View, batch: &mut Batch, job: &VerificationJob) -> Result<(), StoreError> {
    let known = view.get(Table::VerificationJob, &Key::job(&job.id))?;
    let number = match known {
        Some(row) => read(job.id, &row)?.0,
        None => add(view, batch, job)?,
    };
    batch.put(Table::VerificationJob, &Key::job(&job.id), write(number, job));
    Ok(())
}

/// Numbers a new job, and deletes old ones.
fn add(view: &View, batch: &mut Batch, job: &VerificationJob) -> Result<u64, StoreError> {
    let newest = view.prefix(Table::VerificationJobByNumber, &Key::EMPTY).next_back().transpose()?;
    let number = newest.map_or(Ok(0), |(key, _)| number_in_key(&key, 0))? + 1;
    let retention = u64::try_from(JOB_RETENTION.as_millis()).unwrap_or(u64::MAX);
    for row in view.prefix(Table::VerificationJobByNumber, &Key::EMPTY).take(DELETED_AT_ONCE) {
        let (key, row) = row?;
        let old = number_in_key(&key, 0)?;
        let (id, submitted_at) = read_numbered(&row)?;
        if number - old < KEPT_JOBS && submitted_at.saturating_add(retention) >= job.submitted_at {
            break;
        }
        batch.delete(Table::VerificationJobByNumber, &Key::id(old));
        batch.delete(Table::VerificationJob, &Key::job(&id));
    }
    put_number(batch, number, job);
    Ok(number)
}

fn put_number(batch: &mut Batch, number: u64, job: &VerificationJob) {
    let mut row = RowWriter::default();
    row.bytes(job.id.as_bytes());
    row.varint(job.submitted_at);
    batch.put(Table::VerificationJobByNumber, &Key::id(number), row.finish());
}

/// The id of a job, and when it was submitted.
pub(super) fn read_numbered(row: &[u8]) -> Result<(JobId, UnixMillis), StoreError> {
    let mut row = RowReader::new(row);
    Ok((JobId::from_bytes(row.array()?), row.varint()?))
}

/// Stores a job that has its number already.
pub(super) fn put_numbered(batch: &mut Batch, number: u64, job: &VerificationJob) {
    put_number(batch, number, job);
    batch.put(Table::VerificationJob, &Key::job(&job.id), write(number, job));
}

fn write(number: u64, job: &VerificationJob) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(256);
    row.varint(number);
    row.bytes(job.address.as_slice());
    row.varint(job.submitted_at);
    let Some(result) = &job.result else {
        row.byte(0);
        return row.finish();
    };
    row.byte(1);
    row.varint(result.finished_at);
    match result.compilation_millis {
        None => row.byte(0),
        Some(millis) => {
            row.byte(1);
            row.varint(millis);
        }
    }
    row.text(&result.message);
    match &result.verdict {
        JobVerdict::Verified { name, runtime_match, creation } => {
            row.byte(0);
            row.text(name);
            row.byte(runtime_match.to_number());
            row.byte(match creation {
                CreationCheck::Unknown => 0,
                CreationCheck::Matches(kind) => kind.to_number(),
                CreationCheck::Differs => 3,
            });
        }
        JobVerdict::Refused { reason, creation_match } => {
            row.byte(1);
            row.byte(reason.to_number());
            row.byte(creation_match.map_or(NO_MATCH, MatchKind::to_number));
        }
        JobVerdict::Failed(failure) => {
            row.byte(2);
            row.byte(failure.to_number());
        }
    }
    row.finish()
}

pub(super) fn read(id: JobId, row: &[u8]) -> Result<(u64, VerificationJob), StoreError> {
    let mut row = RowReader::new(row);
    let number = row.varint()?;
    let (address, submitted_at) = (row.address()?, row.varint()?);
    let result = if row.flag()? {
        Some(JobResult {
            finished_at: row.varint()?,
            compilation_millis: row.flag()?.then(|| row.varint()).transpose()?,
            message: row.text()?,
            verdict: read_verdict(&mut row)?,
        })
    } else {
        None
    };
    Ok((number, VerificationJob { id, address, submitted_at, result }))
}

fn read_verdict(row: &mut RowReader<'_>) -> Result<JobVerdict, StoreError> {
    Ok(match row.byte()? {
        0 => JobVerdict::Verified {
            name: row.text()?,
            runtime_match: MatchKind::from_number(row.byte()?)?,
            creation: match row.byte()? {
                0 => CreationCheck::Unknown,
                3 => CreationCheck::Differs,
                kind => CreationCheck::Matches(MatchKind::from_number(kind)?),
            },
        },
        1 => JobVerdict::Refused {
            reason: JobRefusal::from_number(row.byte()?)?,
            creation_match: match row.byte()? {
                NO_MATCH => None,
                kind => Some(MatchKind::from_number(kind)?),
            },
        },
        2 => JobVerdict::Failed(JobFailure::from_number(row.byte()?)?),
        _ => return Err(UNKNOWN),
    })
}
