//! Verification jobs. They are numbered in order of submission, so that the oldest can be deleted.

use deadpool_postgres::Transaction;
use domain::{CreationCheck, JobId, JobResult, JobVerdict, MatchKind, UnixMillis, VerificationJob};
use store::{JOB_RETENTION, KEPT_JOBS, RowNumber, StoreError};
use tokio_postgres::Row;

use crate::{
    database::{Connection, execute, find as find_row, get},
    locks,
    rows::{RowExt, clamped, int2, int8},
};

/// The columns of a job.
pub(super) const COLUMNS: &str = "address, submitted_at, finished_at, compilation_millis, message, verdict, name,
    runtime_match, creation_check, reason, creation_match";

const UNKNOWN: StoreError = StoreError::Corrupt("a verification job of an unknown kind");

const VERIFIED: i16 = 0;
const REFUSED: i16 = 1;
const FAILED: i16 = 2;

const CREATION_UNKNOWN: i16 = 0;
const CREATION_DIFFERS: i16 = 3;

pub(super) async fn find(client: &dyn Connection, id: JobId) -> Result<Option<VerificationJob>, StoreError> {
    let sql = format!("select {COLUMNS} from verification_job where id = $1");
    let row = find_row(client, &sql, &[&id.as_bytes().as_slice()]).await?;
    row.map(|row| job_from_row(id, &row)).transpose()
}

/// Stores a job. A new one is numbered, and old ones are deleted.
pub(super) async fn put(tx: &Transaction<'_>, job: &VerificationJob) -> Result<(), StoreError> {
    execute(tx, "select pg_advisory_xact_lock($1)", &[&locks::JOBS]).await?;
    let id = job.id.as_bytes().as_slice();
    let known = find_row(tx, "select number from verification_job where id = $1", &[&id]).await?;
    let number: i64 = match known {
        Some(row) => row.value(0)?,
        None => add(tx, job.submitted_at).await?,
    };
    put_numbered(tx, number, job).await
}

/// Stores a job that has its number already.
pub(super) async fn put_numbered(tx: &Transaction<'_>, number: i64, job: &VerificationJob) -> Result<(), StoreError> {
    let id = job.id.as_bytes().as_slice();
    let columns = Columns::of(job);
    let result = job.result.as_ref();
    let sql = "insert into verification_job values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
        on conflict (id) do update set address = excluded.address, submitted_at = excluded.submitted_at,
            finished_at = excluded.finished_at, compilation_millis = excluded.compilation_millis,
            message = excluded.message, verdict = excluded.verdict, name = excluded.name,
            runtime_match = excluded.runtime_match, creation_check = excluded.creation_check, reason = excluded.reason,
            creation_match = excluded.creation_match";
    execute(
        tx,
        sql,
        &[
            &id,
            &number,
            &job.address.as_slice(),
            &int8(job.submitted_at),
            &result.map(|result| int8(result.finished_at)),
            &result.and_then(|result| result.compilation_millis).map(int8),
            &result.map(|result| result.message.as_bytes()),
            &columns.verdict,
            &columns.name,
            &columns.runtime_match,
            &columns.creation_check,
            &columns.reason,
            &columns.creation_match,
        ],
    )
    .await?;
    Ok(())
}

/// The number of a new job.
async fn add(tx: &Transaction<'_>, submitted_at: UnixMillis) -> Result<i64, StoreError> {
    let sql = "select coalesce(max(number), 0) + 1 from verification_job";
    let number: i64 = get(tx, sql, &[]).await?.value(0)?;
    let retention = u64::try_from(JOB_RETENTION.as_millis()).unwrap_or(u64::MAX);
    // Jobs from the oldest one on, up to the first one that is kept.
    let sql = "delete from verification_job where number < coalesce(
            (select min(number) from verification_job where number > $1 and submitted_at >= $2), $3
        )";
    let oldest = clamped(submitted_at.saturating_sub(retention));
    execute(tx, sql, &[&number.saturating_sub(int8(KEPT_JOBS)), &oldest, &number]).await?;
    Ok(number)
}

#[derive(Default)]
struct Columns<'a> {
    verdict: Option<i16>,
    name: Option<&'a [u8]>,
    runtime_match: Option<i16>,
    creation_check: Option<i16>,
    reason: Option<i16>,
    creation_match: Option<i16>,
}

impl<'a> Columns<'a> {
    fn of(job: &'a VerificationJob) -> Self {
        let Some(result) = &job.result else { return Self::default() };
        match &result.verdict {
            JobVerdict::Verified { name, runtime_match, creation } => Self {
                verdict: Some(VERIFIED),
                name: Some(name.as_bytes()),
                runtime_match: Some(int2(*runtime_match)),
                creation_check: Some(match creation {
                    CreationCheck::Unknown => CREATION_UNKNOWN,
                    CreationCheck::Matches(kind) => int2(*kind),
                    CreationCheck::Differs => CREATION_DIFFERS,
                }),
                ..Self::default()
            },
            JobVerdict::Refused { reason, creation_match } => Self {
                verdict: Some(REFUSED),
                reason: Some(int2(*reason)),
                creation_match: creation_match.map(int2),
                ..Self::default()
            },
            JobVerdict::Failed(failure) => {
                Self { verdict: Some(FAILED), reason: Some(int2(*failure)), ..Self::default() }
            }
        }
    }
}

pub(super) fn job_from_row(id: JobId, row: &Row) -> Result<VerificationJob, StoreError> {
    let result = match row.option_u64(2)? {
        None => None,
        Some(finished_at) => Some(JobResult {
            finished_at,
            compilation_millis: row.option_u64(3)?,
            message: row.option_text(4)?.ok_or(UNKNOWN)?,
            verdict: verdict_from_row(row)?,
        }),
    };
    Ok(VerificationJob { id, address: row.address(0)?, submitted_at: row.u64(1)?, result })
}

fn verdict_from_row(row: &Row) -> Result<JobVerdict, StoreError> {
    match row.value::<Option<i16>>(5)?.ok_or(UNKNOWN)? {
        VERIFIED => Ok(JobVerdict::Verified {
            name: row.option_text(6)?.ok_or(UNKNOWN)?,
            runtime_match: row.option_kind(7)?.ok_or(UNKNOWN)?,
            creation: match row.value::<Option<i16>>(8)?.ok_or(UNKNOWN)? {
                CREATION_UNKNOWN => CreationCheck::Unknown,
                CREATION_DIFFERS => CreationCheck::Differs,
                kind => CreationCheck::Matches(MatchKind::from_number(kind)?),
            },
        }),
        REFUSED => Ok(JobVerdict::Refused {
            reason: row.option_kind(9)?.ok_or(UNKNOWN)?,
            creation_match: row.option_kind(10)?,
        }),
        FAILED => Ok(JobVerdict::Failed(row.option_kind(9)?.ok_or(UNKNOWN)?)),
        _ => Err(UNKNOWN),
    }
}
