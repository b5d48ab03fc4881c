//! Requests of callers, counted over all processes.

mod leases;

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use futures::future::{BoxFuture, try_join_all};
use store::{QuotaCaller, QuotaLeft, QuotaUse, SharedQuotas, StoreError};
use tokio::task::AbortHandle;

use self::leases::{Lease, Leases, Returned, lease_time};
use crate::{
    database::{Connection, Database, execute, query},
    rows::{RowExt, int8},
};

/// How often a process deletes callers that were not seen for a while.
const SWEEP: Duration = Duration::from_secs(60);
/// After how long. Longer than any window with its leases.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// How often a process that has leases looks which of them others need.
const RETURN_INTERVAL: Duration = Duration::from_millis(200);
/// How long a process may take to return a lease, and how often the one that needs it looks.
const RECALL_TIMEOUT: Duration = Duration::from_millis(1_000);
const POLL: Duration = Duration::from_millis(30);

/// The quotas of a database.
#[derive(Debug)]
pub struct PostgresQuotas {
    counter: Arc<QuotaCounter>,
    returning: AbortHandle,
}

#[derive(Debug)]
struct QuotaCounter {
    database: Database,
    /// Random, one for each process, and not 0.
    process: i64,
    leases: Leases,
    swept_at: Mutex<Instant>,
}

/// The first caller's part of what the database says.
struct QuotaReply {
    used: QuotaUse,
    is_recalled: bool,
    granted: u32,
    /// Until each of the next units expires.
    expiries: Vec<Duration>,
}

impl PostgresQuotas {
    /// Must be called on a runtime.
    pub(crate) fn new(database: Database) -> Self {
        let process = (RandomState::new().hash_one(Instant::now()) | 1).cast_signed();
        let counter =
            QuotaCounter { database, process, leases: Leases::default(), swept_at: Mutex::new(Instant::now()) };
        let counter = Arc::new(counter);
        let returned = Arc::clone(&counter);
        let returning = tokio::spawn(async move { returned.return_leases().await }).abort_handle();
        Self { counter, returning }
    }
}

impl Drop for PostgresQuotas {
    fn drop(&mut self) {
        self.returning.abort();
    }
}

impl QuotaCounter {
    /// A cost of 0 counts nothing.
    async fn query_quotas(
        &self,
        client: &dyn Connection,
        callers: &[QuotaCaller],
        cost: u32,
        window: Duration,
        (returned, wanted): (&Returned, u32),
    ) -> Result<QuotaReply, StoreError> {
        let names: Vec<&[u8]> = callers.iter().map(|caller| caller.name.as_slice()).collect();
        let limits: Vec<i64> = callers.iter().map(|caller| i64::from(caller.limit)).collect();
        // Leases are of a caller that is counted alone.
        let process = if callers.len() == 1 { self.process } else { 0 };
        let sql = "select is_allowed, is_recalled, remaining, granted, expiries
            from take_requests($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
        let rows = query(
            client,
            sql,
            &[
                &names,
                &limits,
                &micros(window),
                &i64::from(cost),
                &process,
                &returned.ages(),
                &i64::from(returned.unused),
                &i64::from(wanted),
                &micros(lease_time(window)),
                &micros(RECALL_TIMEOUT),
            ],
        )
        .await?;
        let mut reply = QuotaReply {
            used: QuotaUse { allowed: true, left: Vec::with_capacity(rows.len()) },
            is_recalled: false,
            granted: 0,
            expiries: Vec::new(),
        };
        for row in &rows {
            reply.used.allowed &= row.value::<bool>(0)?;
            reply.is_recalled |= row.value::<bool>(1)?;
            reply.granted += units(row.u64(3)?);
            let expiries = row.value::<Vec<i64>>(4)?;
            let expiries: Vec<Duration> =
                expiries.iter().map(|micros| Duration::from_micros(micros.cast_unsigned())).collect();
            let until_more = expiries.first().copied().unwrap_or_default();
            reply.used.left.push(QuotaLeft { remaining: units(row.u64(2)?), until_more });
            if reply.expiries.is_empty() {
                reply.expiries = expiries;
            }
        }
        Ok(reply)
    }

    /// Counts requests in the database, and waits for leases of other processes if there is not enough without them.
    async fn take(
        &self,
        callers: &[QuotaCaller],
        cost: u32,
        window: Duration,
        (mut returned, wanted): (Returned, u32),
    ) -> Result<QuotaReply, StoreError> {
        loop {
            let client = self.database.connection().await?;
            let reply = self.query_quotas(&client, callers, cost, window, (&returned, wanted)).await?;
            if self.is_sweep_due() {
                sweep(&client).await?;
            }
            if !reply.is_recalled {
                return Ok(reply);
            }
            drop(client);
            returned = Returned::default();
            tokio::time::sleep(POLL).await;
        }
    }

    /// Counts a request by a lease, if there is one.
    async fn take_leased(&self, caller: &QuotaCaller, cost: u32, window: Duration) -> Result<QuotaUse, StoreError> {
        let asked = Instant::now();
        let lease = self.leases.of(caller);
        if let Some(left) = lease.state().take(caller.limit, cost, window, asked) {
            return Ok(QuotaUse { allowed: true, left: vec![left] });
        }
        // One of the requests of a caller asks for all.
        let mut asking = lease.asking.lock().await;
        if let Some(left) = lease.state().take(caller.limit, cost, window, Instant::now()) {
            return Ok(QuotaUse { allowed: true, left: vec![left] });
        }
        if let Some((failed, reason)) = &*asking
            && *failed >= asked
        {
            return Err(StoreError::Unavailable { reason: reason.clone() });
        }
        let now = Instant::now();
        let plan = lease.state().plan(caller.limit, window, now);
        match self.take(std::slice::from_ref(caller), cost, window, plan).await {
            Ok(reply) => {
                lease.state().apply_reply(caller.limit, cost, window, &reply, now);
                Ok(reply.used)
            }
            Err(error) => {
                if let StoreError::Unavailable { reason } = &error {
                    *asking = Some((Instant::now(), reason.clone()));
                }
                Err(error)
            }
        }
    }

    /// Returns leases that others need, and those that are not used.
    async fn return_leases(&self) {
        loop {
            self.leases.wait_for_caller().await;
            tokio::time::sleep(RETURN_INTERVAL).await;
            if let Err(error) = self.return_due().await {
                // Another server may know nothing of them.
                self.leases.end_all();
                tracing::debug!(%error, "cannot return leases of request limits");
            }
        }
    }

    async fn return_due(&self) -> Result<(), StoreError> {
        if !self.leases.has_outstanding(Instant::now()) {
            return Ok(());
        }
        let client = self.database.connection().await?;
        let sql = "delete from recalled_lease where process = $1 returning caller";
        let rows = query(&client, sql, &[&self.process]).await?;
        let recalled = rows.iter().map(|row| row.value::<Vec<u8>>(0)).collect::<Result<Vec<_>, _>>()?;
        let due = self.leases.due(&recalled, Instant::now());
        // On one connection: they are sent together.
        let mut reports: Vec<BoxFuture<'_, Result<QuotaReply, StoreError>>> = Vec::with_capacity(due.len());
        for (caller, window, returned) in &due {
            reports.push(Box::pin(self.query_quotas(&client, std::slice::from_ref(caller), 0, *window, (returned, 0))));
        }
        try_join_all(reports).await.map(drop)
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

async fn sweep(client: &dyn Connection) -> Result<(), StoreError> {
    let sql = "delete from request_quota where used_at < clock_timestamp() - $1::int8 * interval '1 microsecond'";
    execute(client, sql, &[&micros(IDLE_TIMEOUT)]).await?;
    let sql = "delete from recalled_lease r where not exists (select 1 from request_quota q where q.caller = r.caller)";
    execute(client, sql, &[]).await?;
    Ok(())
}

#[async_trait]
impl SharedQuotas for PostgresQuotas {
    async fn take(&self, callers: &[QuotaCaller], cost: u32, window: Duration) -> Result<QuotaUse, StoreError> {
        let (counter, cost) = (&self.counter, cost.max(1));
        match callers {
            [caller] if Lease::is_leasable(caller.limit) => counter.take_leased(caller, cost, window).await,
            _ => Ok(counter.take(callers, cost, window, <(Returned, u32)>::default()).await?.used),
        }
    }

    async fn peek(&self, callers: &[QuotaCaller], window: Duration) -> Result<QuotaUse, StoreError> {
        let client = self.counter.database.connection().await?;
        Ok(self.counter.query_quotas(&client, callers, 0, window, (&Returned::default(), 0)).await?.used)
    }

    async fn finish(&self) {
        self.counter.leases.end_all();
        if let Err(error) = self.counter.return_due().await {
            tracing::debug!(%error, "cannot return leases of request limits");
        }
    }
}

fn micros(duration: Duration) -> i64 {
    int8(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
}

fn units(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
