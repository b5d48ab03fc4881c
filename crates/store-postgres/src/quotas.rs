//! Requests of callers, counted over all processes.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use store::{QuotaCaller, QuotaLeft, QuotaUse, SharedQuotas, StoreError};

use crate::{
    database::{Database, execute, query},
    rows::{RowExt, int8},
};

/// How often a process deletes callers that were not seen for a while.
const SWEEP: Duration = Duration::from_secs(60);
/// After how long. Longer than any window.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// The quotas of a database.
#[derive(Debug)]
pub struct PostgresQuotas {
    database: Database,
    swept_at: Mutex<Instant>,
}

impl PostgresQuotas {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, swept_at: Mutex::new(Instant::now()) }
    }

    /// A cost of 0 only looks.
    async fn run(&self, callers: &[QuotaCaller], cost: u32, window: Duration) -> Result<QuotaUse, StoreError> {
        let names: Vec<&[u8]> = callers.iter().map(|caller| caller.name.as_slice()).collect();
        let limits: Vec<i64> = callers.iter().map(|caller| i64::from(caller.limit)).collect();
        let client = self.database.connection().await?;
        let sql = "select is_allowed, remaining, until_more_micros
            from take_requests($1, $2, $3::int8 * interval '1 microsecond', $4)";
        let rows = query(&client, sql, &[&names, &limits, &micros(window), &i64::from(cost)]).await?;
        let left = rows.iter().map(|row| {
            let remaining = u32::try_from(row.u64(1)?).unwrap_or(u32::MAX);
            Ok(QuotaLeft { remaining, until_more: Duration::from_micros(row.u64(2)?) })
        });
        let allowed = rows.iter().map(|row| row.value::<bool>(0)).collect::<Result<Vec<_>, StoreError>>()?;
        let result = QuotaUse {
            allowed: allowed.iter().all(|allowed| *allowed),
            left: left.collect::<Result<_, StoreError>>()?,
        };
        if cost > 0 && self.is_sweep_due() {
            let sql = "with forgotten as (
                    delete from request_quota where used_at < clock_timestamp() - $1::int8 * interval '1 microsecond'
                    returning caller
                ) delete from quota_request using forgotten where quota_request.caller = forgotten.caller";
            execute(&client, sql, &[&micros(FORGOTTEN)]).await?;
        }
        Ok(result)
    }

    fn is_sweep_due(&self) -> bool {
        let mut swept_at = self.swept_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = swept_at.elapsed() >= SWEEP;
        if is_due {
            *swept_at = Instant::now();
        }
        is_due
    }
}

#[async_trait]
impl SharedQuotas for PostgresQuotas {
    async fn take(&self, callers: &[QuotaCaller], cost: u32, window: Duration) -> Result<QuotaUse, StoreError> {
        self.run(callers, cost.max(1), window).await
    }

    async fn peek(&self, callers: &[QuotaCaller], window: Duration) -> Result<QuotaUse, StoreError> {
        self.run(callers, 0, window).await
    }
}

fn micros(duration: Duration) -> i64 {
    int8(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}
