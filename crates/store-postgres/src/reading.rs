//! A connection that reads the index, in as few round trips as the query has.

use std::{
    pin::Pin,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use domain::BlockNumber;
use futures::{
    FutureExt,
    future::{BoxFuture, join},
};
use store::StoreError;
use tokio_postgres::{Client, Error, Row};

use crate::{
    database::{Connection, Parameters, ReadConnection},
    error::store_error,
    replica::Replica,
    rows::RowExt,
};

/// For this long, the version that was read last is taken for the newest one.
const MAX_VERSION_AGE: Duration = Duration::from_secs(1);
/// What the first statement of a query reads beside its own rows: a row without them says that there are none.
const VERSION_COLUMNS: usize = 3;

/// The newest version that a read has seen, with its tip.
#[derive(Debug, Default)]
pub(crate) struct Shown(Mutex<Option<Seen>>);

#[derive(Debug, Clone, Copy)]
struct Seen {
    version: u64,
    tip: Option<BlockNumber>,
    at: Instant,
}

impl Shown {
    /// The tip of that version; None if it was read long ago, or if there is a newer one.
    pub(crate) fn tip(&self, newest: Option<u64>) -> Option<Option<BlockNumber>> {
        let seen = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.filter(|seen| newest.is_some_and(|newest| seen.version >= newest))?;
        (seen.at.elapsed() < MAX_VERSION_AGE).then_some(seen.tip)
    }

    fn note(&self, version: u64, tip: Option<BlockNumber>) {
        let (mut seen, at) = (self.0.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        // Reads that ran at the same time may end in another order.
        if seen.is_none_or(|seen| version >= seen.version || at - seen.at >= MAX_VERSION_AGE) {
            *seen = Some(Seen { version, tip, at });
        }
    }
}

/// One statement, or a transaction in which all statements see the same state. Either begins with the first statement, in the
/// same round trip, and ends without waiting for the server.
pub(crate) struct Reading<'a> {
    connection: &'a ReadConnection,
    shown: &'a Shown,
    /// Set if the primary is read while there is a standby.
    standby: Option<&'a Replica>,
    has_seen: AtomicBool,
    /// The beginning of a transaction, until its result is known.
    beginning: Option<Mutex<Option<Beginning<'a>>>>,
}

type Beginning<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

impl<'a> Reading<'a> {
    pub(crate) fn statement(
        connection: &'a ReadConnection,
        shown: &'a Shown,
        standby: Option<&'a Replica>,
    ) -> Result<Self, StoreError> {
        connection.client()?;
        Ok(Self { connection, shown, standby, has_seen: AtomicBool::new(false), beginning: None })
    }

    pub(crate) fn snapshot(
        connection: &'a ReadConnection,
        shown: &'a Shown,
        standby: Option<&'a Replica>,
    ) -> Result<Self, StoreError> {
        let client: &Client = connection.client()?;
        let begin = connection.begin();
        let mut beginning: Beginning<'a> = Box::pin(async move { client.batch_execute(&begin).await });
        // Sends it.
        let ended = beginning.as_mut().now_or_never();
        let beginning: Beginning<'a> = match ended {
            None => beginning,
            Some(failed) => Box::pin(std::future::ready(failed)),
        };
        let beginning = Some(Mutex::new(Some(beginning)));
        Ok(Self { connection, shown, standby, has_seen: AtomicBool::new(false), beginning })
    }

    /// The result of `begin`, for the first statement.
    async fn begun(&self) -> Result<(), Error> {
        let beginning = self.beginning.as_ref();
        let beginning = beginning.and_then(|beginning| beginning.lock().unwrap_or_else(PoisonError::into_inner).take());
        match beginning {
            Some(beginning) => beginning.await,
            None => Ok(()),
        }
    }

    async fn run(&self, sql: &str, parameters: Parameters<'_>) -> Result<Vec<Row>, StoreError> {
        let connection = self.connection.client()?;
        let answer = async {
            let statement = connection.prepare_cached(sql).await.map_err(store_error)?;
            let client: &Client = connection;
            let (rows, begun) = join(client.query(&statement, parameters), self.begun()).await;
            begun.map_err(store_error)?;
            rows.map_err(store_error)
        };
        self.connection.run(answer).await
    }

    /// Notes the version and the tip that a statement has seen.
    fn note(&self, row: &Row) -> Result<(), StoreError> {
        let first = row.len() - VERSION_COLUMNS + 1;
        let version = row.u64(first)?;
        self.shown.note(version, row.option_u64(first + 1)?);
        if let Some(standby) = self.standby {
            standby.note_shown(version);
        }
        Ok(())
    }
}

impl Drop for Reading<'_> {
    /// The next user of the connection sends after this.
    fn drop(&mut self) {
        if self.beginning.is_some()
            && let Ok(client) = self.connection.client()
        {
            let client: &Client = client;
            let _ = client.batch_execute("rollback").now_or_never();
        }
    }
}

impl Connection for Reading<'_> {
    fn query_cached<'b>(
        &'b self,
        sql: &'b str,
        parameters: Parameters<'b>,
    ) -> BoxFuture<'b, Result<Vec<Row>, StoreError>> {
        Box::pin(async move {
            if self.has_seen.swap(true, Ordering::Relaxed) {
                return self.run(sql, parameters).await;
            }
            let sql = format!(
                "select f.*, v.number, c.tip_number from state_version v cross join chain c
                left join (select q.*, true as is_row from ({sql}) q) f on true"
            );
            let mut rows = self.run(&sql, parameters).await?;
            let first = rows.first().ok_or(StoreError::Corrupt("the version of the index is missing"))?;
            self.note(first)?;
            if first.value::<Option<bool>>(first.len() - VERSION_COLUMNS)?.is_none() {
                rows.clear();
            }
            Ok(rows)
        })
    }

    fn execute_cached<'b>(
        &'b self,
        sql: &'b str,
        parameters: Parameters<'b>,
    ) -> BoxFuture<'b, Result<u64, StoreError>> {
        Box::pin(async move {
            let connection = self.connection.client()?;
            self.connection.run(connection.execute_cached(sql, parameters)).await
        })
    }
}
