//! The writer of the index: elected by a lock in the database, fenced by an epoch.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use async_trait::async_trait;
use deadpool_postgres::Transaction;
use domain::{
    Address, AuditResult, AuditSample, B256, BalanceKey, BlockChanges, BlockNumber, BlockRef, Bytes, ChainIdentity,
    InternalBlock, InternalFrontier, PendingToken, TokenMetadata, U256,
};
use store::{BoxError, ChainWriter, ContractDataWriter, InternalWriter, StoreError, Undo};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio_postgres::error::SqlState;

use crate::{
    chain::Chain,
    database::{Object, Pool, find, get},
    error::{pool_error, store_error},
    locks, migrations,
    rows::{RowExt, int8},
    versions::{self, Versions},
    write::{self, WriteState},
};

/// How long a writer waits for the one before, in another process, to end. Then it fails, and its caller retries.
const ELECTION_TIMEOUT: &str = "set lock_timeout = '2s'";

/// The writers that were taken from one store. Only the newest may write.
#[derive(Debug)]
pub(crate) struct Writers {
    newest: AtomicU64,
    /// Locked while a writer works, so that its successor sees what it wrote.
    session: Arc<Mutex<Session>>,
    versions: Arc<Versions>,
    is_elected: Arc<AtomicBool>,
}

impl Writers {
    pub(crate) fn new(pool: Pool, versions: Arc<Versions>, cache_entries: usize) -> Self {
        let state = WriteState::new(cache_entries);
        let is_elected = Arc::<AtomicBool>::default();
        let session = Session { pool, client: None, elected: None, is_elected: Arc::clone(&is_elected), state };
        Self { newest: AtomicU64::new(0), session: Arc::new(Mutex::new(session)), versions, is_elected }
    }

    /// Whether a writer of this process was elected, and its connection was not lost since, as far as it is known.
    pub(crate) fn is_elected(&self) -> bool {
        self.is_elected.load(Ordering::Acquire)
    }
}

/// A connection that holds the lock of the writer.
struct Session {
    pool: Pool,
    client: Option<Object>,
    elected: Option<Elected>,
    /// For other tasks.
    is_elected: Arc<AtomicBool>,
    state: WriteState,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("elected", &self.elected).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Elected {
    /// The number of the writer among those of this store.
    writer: u64,
    epoch: i64,
}

impl Session {
    /// Makes sure that this writer is the one of the database.
    async fn elect(&mut self, writer: u64) -> Result<(), StoreError> {
        if self.client.as_ref().is_some_and(|client| client.is_closed()) {
            self.client = None;
        }
        let is_elected = self.elected.is_some_and(|elected| elected.writer == writer);
        if self.client.is_some() && is_elected {
            return Ok(());
        }
        let result = self.try_elect(writer, is_elected).await;
        if result.is_err() {
            // Releases the lock.
            self.disconnect();
        }
        self.is_elected.store(result.is_ok(), Ordering::Release);
        result
    }

    async fn try_elect(&mut self, writer: u64, is_elected: bool) -> Result<(), StoreError> {
        self.state.clear();
        if self.client.is_none() {
            let client = self.pool.get().await.map_err(pool_error)?;
            client.batch_execute(ELECTION_TIMEOUT).await.map_err(store_error)?;
            if let Err(error) = client.query("select pg_advisory_lock($1)", &[&locks::WRITER]).await {
                if error.code() != Some(&SqlState::LOCK_NOT_AVAILABLE) {
                    return Err(store_error(error));
                }
                locks::end_silent_holder(&client, locks::WRITER).await?;
                return Err(StoreError::InUse);
            }
            locks::write_heartbeat(&client, locks::WRITER).await?;
            client.batch_execute("set lock_timeout = 0").await.map_err(store_error)?;
            self.client = Some(client);
        }
        let client = self.client.as_ref().ok_or(StoreError::Corrupt("a connection that was just opened"))?;
        if is_elected {
            // The connection was lost. If another writer was elected since, this one is replaced.
            let epoch: i64 = get(client, "select epoch from writer", &[]).await?.value(0)?;
            let was_replaced = self.elected.is_none_or(|elected| elected.epoch != epoch);
            return if was_replaced { Err(StoreError::WriterReplaced) } else { Ok(()) };
        }
        let epoch = get(client, "update writer set epoch = epoch + 1 returning epoch", &[]).await?.value(0)?;
        self.elected = Some(Elected { writer, epoch });
        Ok(())
    }

    fn disconnect(&mut self) {
        // Closes the connection instead of returning it to the pool, so that the lock is released.
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }

    async fn begin(&mut self) -> Result<(Transaction<'_>, &mut WriteState), StoreError> {
        let Self { client: Some(client), elected: Some(elected), state, .. } = self else {
            return Err(StoreError::Corrupt("a writer that was not elected"));
        };
        let tx = client.transaction().await.map_err(store_error)?;
        // Locked until the end: a successor waits for this transaction.
        let fence = find(&tx, "select 1 from writer where epoch = $1 for update", &[&elected.epoch]).await?;
        if fence.is_none() {
            return Err(StoreError::WriterReplaced);
        }
        Ok((tx, state))
    }
}

/// The writer of a store, until another one is taken.
#[derive(Debug)]
pub struct PostgresWriter {
    writers: Arc<Writers>,
    number: u64,
}

impl PostgresWriter {
    /// Replaces the writer before.
    pub(crate) fn new(writers: Arc<Writers>) -> Self {
        let number = writers.newest.fetch_add(1, Ordering::AcqRel) + 1;
        Self { writers, number }
    }

    /// Waits until the writer before has ended its work.
    fn acquire_session(&self) -> impl Future<Output = Result<OwnedMutexGuard<Session>, StoreError>> + Send + 'static {
        let (writers, number) = (Arc::clone(&self.writers), self.number);
        async move {
            let mut session = Arc::clone(&writers.session).lock_owned().await;
            if writers.newest.load(Ordering::Acquire) != number {
                return Err(StoreError::WriterReplaced);
            }
            session.elect(number).await?;
            Ok(session)
        }
    }
}

/// Runs to its end even if the caller stops waiting.
async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::spawn(work).await.unwrap_or_else(|ended| Err(StoreError::Backend(BoxError::from(ended))))
}

/// Runs a change in a transaction. It returns its result, and whether queries may show it: then there is a new version.
macro_rules! change {
    ($this:ident, |$tx:ident, $state:ident| $work:expr) => {{
        let (session, versions) = ($this.acquire_session(), Arc::clone(&$this.writers.versions));
        detached(async move {
            let mut session = session.await?;
            let result = async {
                let ($tx, $state) = session.begin().await?;
                let (outcome, is_visible) = $work;
                if is_visible {
                    versions::commit($tx, &versions).await?;
                } else {
                    $tx.commit().await.map_err(store_error)?;
                }
                Ok::<_, StoreError>(outcome)
            }
            .await;
            if result.is_err() {
                session.state.clear();
            }
            result
        })
        .await
    }};
}

/// Runs queries and changes that are not visible in results.
macro_rules! work {
    ($this:ident, |$tx:ident, $state:ident| $work:expr) => {{
        let session = $this.acquire_session();
        detached(async move {
            let mut session = session.await?;
            let ($tx, $state) = session.begin().await?;
            let outcome = $work;
            $tx.commit().await.map_err(store_error)?;
            Ok(outcome)
        })
        .await
    }};
}

#[async_trait]
impl ChainWriter for PostgresWriter {
    async fn tip(&self) -> Result<Option<BlockRef>, StoreError> {
        work!(self, |tx, _state| Chain::read(&tx).await?.tip)
    }

    async fn find_block_hash(&self, number: BlockNumber) -> Result<Option<B256>, StoreError> {
        work!(self, |tx, _state| {
            let row = find(&tx, "select hash from block where number = $1", &[&int8(number)]).await?;
            row.map(|row| row.hash(0)).transpose()?
        })
    }

    async fn oldest_revertible(&self) -> Result<Option<BlockNumber>, StoreError> {
        work!(self, |tx, _state| Chain::read(&tx).await?.oldest_revertible())
    }

    async fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) -> Result<(), StoreError> {
        change!(self, |tx, state| (state.commit(&tx, &blocks, undo).await?, !blocks.is_empty()))
    }

    async fn revert_to(&mut self, number: BlockNumber) -> Result<(), StoreError> {
        change!(self, |tx, state| ((), state.revert_to(&tx, number).await?))
    }

    async fn start_over(&mut self, chain: ChainIdentity) -> Result<(), StoreError> {
        change!(self, |tx, state| {
            state.clear();
            (migrations::start_over(&tx, chain).await?, true)
        })
    }
}

#[async_trait]
impl ContractDataWriter for PostgresWriter {
    async fn list_pending_tokens(&self, limit: usize) -> Result<Vec<PendingToken>, StoreError> {
        work!(self, |tx, state| state.list_pending_tokens(&tx, limit).await?)
    }

    async fn save_token_metadata(&mut self, metadata: Vec<(Address, TokenMetadata)>) -> Result<(), StoreError> {
        change!(self, |tx, _state| (write::save_token_metadata(&tx, &metadata).await?, !metadata.is_empty()))
    }

    async fn list_audits(&self, limit: usize) -> Result<Vec<AuditSample>, StoreError> {
        work!(self, |tx, _state| write::list_audits(&tx, limit).await?)
    }

    async fn save_audits(&mut self, verdicts: Vec<(Address, AuditResult)>, at: BlockNumber) -> Result<(), StoreError> {
        change!(self, |tx, _state| (write::save_audits(&tx, &verdicts, at).await?, !verdicts.is_empty()))
    }

    async fn list_pending_balances(&mut self, limit: usize) -> Result<Vec<BalanceKey>, StoreError> {
        work!(self, |tx, _state| write::list_pending_balances(&tx, limit).await?)
    }

    async fn save_balances(&mut self, balances: Vec<(BalanceKey, U256)>, at: BlockNumber) -> Result<(), StoreError> {
        change!(self, |tx, _state| (write::save_balances(&tx, &balances, at).await?, !balances.is_empty()))
    }

    async fn list_pending_codes(&self, limit: usize) -> Result<Vec<Address>, StoreError> {
        work!(self, |tx, _state| write::list_pending_codes(&tx, limit).await?)
    }

    async fn save_codes(&mut self, codes: Vec<(Address, Bytes)>, at: BlockNumber) -> Result<(), StoreError> {
        change!(self, |tx, state| (state.save_codes(&tx, &codes, at).await?, !codes.is_empty()))
    }

    async fn rank_holders(&mut self, limit: usize) -> Result<usize, StoreError> {
        change!(self, |tx, _state| {
            let ranked = write::rank_holders(&tx, limit).await?;
            (ranked, ranked > 0)
        })
    }
}

#[async_trait]
impl InternalWriter for PostgresWriter {
    async fn internal_frontier(&self) -> Result<Option<InternalFrontier>, StoreError> {
        work!(self, |tx, _state| write::internal_frontier(&tx).await?)
    }

    async fn save_internal(&mut self, blocks: Vec<InternalBlock>) -> Result<usize, StoreError> {
        change!(self, |tx, state| {
            let saved = state.save_internal(&tx, &blocks).await?;
            (saved, saved > 0)
        })
    }

    async fn skip_internal(&mut self, last: BlockNumber) -> Result<(), StoreError> {
        change!(self, |tx, _state| ((), write::skip_internal(&tx, last).await?))
    }
}
