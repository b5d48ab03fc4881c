//! Connections to the database, and queries with cached statements.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use deadpool::{Runtime, managed};
use deadpool_postgres::Transaction;
use futures::future::BoxFuture;
use store::StoreError;
use tokio::runtime::Handle;
use tokio_postgres::{IsolationLevel, Row, types::ToSql};

use crate::{
    connector::Connector,
    database_url::DatabaseUrl,
    error::{pool_error, store_error},
    options::PostgresOptions,
    tls::Tls,
};

pub(crate) type Pool = managed::Pool<Connector>;
pub(crate) type Object = managed::Object<Connector>;
/// A server that does not answer by then notices itself that the connection is closed.
const CANCEL: Duration = Duration::from_secs(5);

/// Queries of requests read a few rows of each table by an index. Before the tables were analyzed, and while they are small, the
/// server expects that reading all of a table takes less, and plans each query again, which takes longer than to run it.
const PLANNER_OPTIONS: &str = "-c plan_cache_mode=force_generic_plan -c enable_hashjoin=off -c enable_mergejoin=off";

pub(crate) type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The connections of one process.
#[derive(Clone)]
pub(crate) struct Database {
    url: DatabaseUrl,
    pool: Pool,
    timeout: Duration,
    statement_timeout: Duration,
    schema: String,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the configuration, which has the password.
        f.debug_struct("Database").field("pool", &self.pool.status()).finish_non_exhaustive()
    }
}

impl Database {
    pub(crate) fn new(mut url: DatabaseUrl, options: &PostgresOptions) -> Result<Self, StoreError> {
        let PostgresOptions { schema, connections, timeout, statement_timeout, .. } = options;
        let config = &mut url.config;
        let existing_options = config.get_options().unwrap_or_default();
        // Compiling a query takes longer than running it.
        let options = format!(
            "{existing_options} -c search_path={schema} -c jit=off -c client_min_messages=warning -c tcp_keepalives_idle=3 \
             -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3 -c tcp_user_timeout=6000"
        );
        config.options(options.trim());
        config.application_name(process_name()).connect_timeout(*timeout);
        // A machine that lost its power does not close its connections. The server checks them too (above), so that a
        // writer that is gone does not keep its lock.
        config
            .keepalives_idle(Duration::from_secs(5))
            .keepalives_interval(Duration::from_secs(1))
            .keepalives_retries(3);
        config.tcp_user_timeout(Duration::from_secs(8));
        let mut queried = url.clone();
        queried.config.options(format!("{} {PLANNER_OPTIONS}", options.trim()));
        let pool = new_pool(&queried, *connections, *timeout)?;
        let (timeout, statement_timeout) = (*timeout, *statement_timeout);
        Ok(Self { url, pool, timeout, statement_timeout, schema: schema.clone() })
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    pub(crate) fn url(&self) -> &DatabaseUrl {
        &self.url
    }

    /// Connections that are not shared with queries.
    pub(crate) fn separate_pool(&self, connections: usize) -> Result<Pool, StoreError> {
        new_pool(&self.url, connections, self.timeout)
    }

    pub(crate) async fn connection(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(pool_error)
    }

    /// A connection for queries that may be abandoned, when the deadline of a request has passed or its client is gone.
    pub(crate) async fn reading(&self) -> Result<ReadConnection, StoreError> {
        let client = Some(self.connection().await?);
        let (tls, statement_timeout) = (self.url.tls.clone(), self.statement_timeout);
        Ok(ReadConnection { client, tls, statement_timeout, in_flight: AtomicU32::new(0) })
    }
}

/// A connection that cancels its statements if it is dropped before they were answered: the server would go on for nobody, and the next
/// query on the connection would wait.
pub(crate) struct ReadConnection {
    client: Option<Object>,
    tls: Tls,
    statement_timeout: Duration,
    in_flight: AtomicU32,
}

impl ReadConnection {
    pub(crate) fn client(&self) -> Result<&Object, StoreError> {
        self.client.as_ref().ok_or(StoreError::Corrupt("a connection that was returned"))
    }

    /// In which all statements see the same state, and none takes longer than the server is told here.
    pub(crate) fn begin(&self) -> String {
        format!(
            "begin isolation level repeatable read read only; set local statement_timeout = {}",
            self.statement_timeout.as_millis()
        )
    }

    /// Runs a query, and notes that it was answered.
    pub(crate) async fn run<T>(&self, query: impl Future<Output = T>) -> T {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let answer = query.await;
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        answer
    }
}

impl Drop for ReadConnection {
    fn drop(&mut self) {
        if self.in_flight.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(client) = self.client.take().map(Object::take) else { return };
        let (cancel, tls) = (client.cancel_token(), self.tls.clone());
        let cancelling = async move {
            if !matches!(tokio::time::timeout(CANCEL, cancel.cancel_query(tls)).await, Ok(Ok(()))) {
                tracing::debug!("cannot cancel a statement");
            }
            drop(client);
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(cancelling);
        }
    }
}

/// The name of all connections of this process: if it no longer responds, they are ended together.
fn process_name() -> String {
    static NAME: OnceLock<String> = OnceLock::new();
    let name = || format!("explorer {:08x} {}", RandomState::new().hash_one(Instant::now()), std::process::id());
    NAME.get_or_init(name).clone()
}

fn new_pool(url: &DatabaseUrl, connections: usize, timeout: Duration) -> Result<Pool, StoreError> {
    let pool = Pool::builder(Connector::new(url.clone()))
        .max_size(connections.max(1))
        .runtime(Runtime::Tokio1)
        .wait_timeout(Some(timeout))
        .create_timeout(Some(timeout));
    pool.build().map_err(|error| StoreError::Backend(error.into()))
}

/// Begins a transaction in which all queries see the same state.
pub(crate) async fn snapshot(client: &mut Object) -> Result<Transaction<'_>, StoreError> {
    let builder = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    builder.start().await.map_err(store_error)
}

/// A connection, or a transaction on one. Functions take it as a trait object: they are compiled once, not for each kind.
pub(crate) trait Connection: Send + Sync {
    fn query_cached<'a>(
        &'a self,
        sql: &'a str,
        parameters: Parameters<'a>,
    ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>>;

    /// Returns the number of rows that it changed.
    fn execute_cached<'a>(&'a self, sql: &'a str, parameters: Parameters<'a>)
    -> BoxFuture<'a, Result<u64, StoreError>>;
}

macro_rules! connection {
    ($kind:ty) => {
        impl Connection for $kind {
            fn query_cached<'a>(
                &'a self,
                sql: &'a str,
                parameters: Parameters<'a>,
            ) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
                Box::pin(async move {
                    let statement = self.prepare_cached(sql).await.map_err(store_error)?;
                    self.query(&statement, parameters).await.map_err(store_error)
                })
            }

            fn execute_cached<'a>(
                &'a self,
                sql: &'a str,
                parameters: Parameters<'a>,
            ) -> BoxFuture<'a, Result<u64, StoreError>> {
                Box::pin(async move {
                    let statement = self.prepare_cached(sql).await.map_err(store_error)?;
                    self.execute(&statement, parameters).await.map_err(store_error)
                })
            }
        }
    };
}

connection!(Object);
connection!(Transaction<'_>);

pub(crate) fn query<'a>(
    client: &'a dyn Connection,
    sql: &'a str,
    parameters: Parameters<'a>,
) -> BoxFuture<'a, Result<Vec<Row>, StoreError>> {
    client.query_cached(sql, parameters)
}

pub(crate) async fn find(
    client: &dyn Connection,
    sql: &str,
    parameters: Parameters<'_>,
) -> Result<Option<Row>, StoreError> {
    Ok(client.query_cached(sql, parameters).await?.into_iter().next())
}

pub(crate) async fn get(client: &dyn Connection, sql: &str, parameters: Parameters<'_>) -> Result<Row, StoreError> {
    find(client, sql, parameters).await?.ok_or(StoreError::Corrupt("a row is missing"))
}

/// Returns the number of rows that it changed.
pub(crate) fn execute<'a>(
    client: &'a dyn Connection,
    sql: &'a str,
    parameters: Parameters<'a>,
) -> BoxFuture<'a, Result<u64, StoreError>> {
    client.execute_cached(sql, parameters)
}
