use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use domain::{
    Account, Address, B256, BlockGasPrice, BlockNumber, BlockRef, Bytes, Code, Coverage, DayFigures, Stats,
    TransactionFailure,
};
use metrics::Histogram;
use store::{CachedAccounts, CachedFailures, ChainReader, StateVersion, StoreError};
use tokio_postgres::Row;

use crate::{
    database::{Connection, Database, execute, find},
    numeric::Numeric,
    read::{self, Intersections},
    reading::{Reading, Shown},
    replica::Replica,
    rows::{RowExt, int2, int8},
    versions::Versions,
};

/// Reads the index. Cheap to clone; never blocks the writer.
#[derive(Debug, Clone)]
pub struct PostgresReader {
    pub(crate) database: Database,
    versions: Arc<Versions>,
    /// Reads use it while it is recent enough.
    replica: Option<Arc<Replica>>,
    pub(crate) intersections: Arc<Intersections>,
    pub(crate) read_times: Arc<Histogram>,
    shown: Arc<Shown>,
    /// The first block of an index never changes.
    first_block: Arc<OnceLock<BlockNumber>>,
}

impl PostgresReader {
    pub(crate) fn new(
        database: Database,
        versions: Arc<Versions>,
        replica: Option<Arc<Replica>>,
        (intersections, read_times): (Arc<Intersections>, Arc<Histogram>),
    ) -> Self {
        Self {
            database,
            versions,
            replica,
            intersections,
            read_times,
            shown: Arc::default(),
            first_block: Arc::default(),
        }
    }

    pub(crate) fn replica(&self) -> Option<&Replica> {
        self.replica.as_deref()
    }

    pub(crate) fn usable_replica(&self) -> Option<&Replica> {
        self.replica.as_deref().filter(|replica| replica.usable_version().is_some())
    }

    /// What a read sees is recorded here.
    pub(crate) fn shown(&self) -> &Shown {
        &self.shown
    }
}

/// Runs a query of one statement, on the standby or on the primary.
macro_rules! read_statement {
    ($this:ident, |$client:ident| $query:expr) => {
        $crate::reader::read_as!($this, statement, |$client| $query)
    };
}

/// Runs a query of several statements that see the same state.
macro_rules! read_snapshot {
    ($this:ident, |$client:ident| $query:expr) => {
        $crate::reader::read_as!($this, snapshot, |$client| $query)
    };
}

macro_rules! read_as {
    ($this:ident, $kind:ident, |$client:ident| $query:expr) => {{
        let _timer = $this.read_times.start_timer();
        if let Some(replica) = $this.usable_replica() {
            let read = async {
                let connection = replica.reading().await?;
                let $client = $crate::reading::Reading::$kind(&connection, $this.shown(), None)?;
                $query.await
            };
            match read.await {
                Ok(found) => return Ok(found),
                Err(error) => replica.report_failure(&error),
            }
        }
        let connection = $this.database.reading().await?;
        let $client = $crate::reading::Reading::$kind(&connection, $this.shown(), $this.replica())?;
        $query.await
    }};
}

/// Runs a query that returns None if it would walk lists for long. Then it waits for its turn, and walks. One that reads a single list
/// never does, and is one statement.
macro_rules! read_lists {
    (statement $this:ident, |$client:ident, $lists:ident| $query:expr) => {{
        let $lists =
            $crate::read::Lists { intersections: &$this.intersections, long_walks: $crate::read::LongWalks::No };
        let found: Result<_, StoreError> = async { $crate::reader::read_statement!($this, |$client| $query) }.await;
        found?.ok_or(StoreError::Corrupt("one list takes a walk"))
    }};
    ($this:ident, |$client:ident, $lists:ident| $query:expr) => {{
        for long_walks in [$crate::read::LongWalks::No, $crate::read::LongWalks::Yes] {
            let $lists = $crate::read::Lists { intersections: &$this.intersections, long_walks };
            let _turn = match long_walks {
                $crate::read::LongWalks::No => None,
                $crate::read::LongWalks::Yes => $this.intersections.turn().await,
            };
            let found: Result<_, StoreError> = async { $crate::reader::read_snapshot!($this, |$client| $query) }.await;
            if let Some(found) = found? {
                return Ok(found);
            }
        }
        Err(StoreError::Corrupt("a walk that does not end"))
    }};
}

pub(crate) use read_as;
pub(crate) use read_lists;
pub(crate) use read_snapshot;
pub(crate) use read_statement;

#[async_trait]
impl ChainReader for PostgresReader {
    fn state(&self) -> Option<StateVersion> {
        match self.usable_replica().and_then(Replica::usable_version) {
            Some(version) => Some(StateVersion(version)),
            None => self.versions.now(),
        }
    }

    async fn find_tip(&self) -> Result<Option<BlockRef>, StoreError> {
        read_statement!(self, |client| read::find_tip(&client))
    }

    async fn find_tip_at_least(&self, block: BlockNumber) -> Result<Option<BlockRef>, StoreError> {
        let may_be_a_copy = self.usable_replica().is_some();
        let tip = self.find_tip().await?;
        if !may_be_a_copy || tip.is_some_and(|tip| tip.number >= block) {
            return Ok(tip);
        }
        // Noted as shown, so that the standby is read again only when it has the same.
        let found = async {
            let connection = self.database.reading().await?;
            read::find_tip(&Reading::statement(&connection, &self.shown, self.replica())?).await
        };
        match found.await {
            Ok(found) => Ok(found),
            // Without the primary, the standby may still get the block.
            Err(error) if error.is_transient() => Ok(tip),
            Err(error) => Err(error),
        }
    }

    async fn find_shown_tip(&self) -> Result<Option<BlockNumber>, StoreError> {
        match self.shown.tip(self.versions.latest()) {
            Some(tip) => Ok(tip),
            None => Ok(self.find_tip().await?.map(|tip| tip.number)),
        }
    }

    async fn coverage(&self) -> Result<Coverage, StoreError> {
        if let Some(first_block) = self.first_block.get() {
            return Ok(Coverage { first_block: Some(*first_block) });
        }
        let coverage: Result<Coverage, StoreError> =
            async { read_statement!(self, |client| read::coverage(&client)) }.await;
        if let Ok(Coverage { first_block: Some(first_block) }) = coverage {
            let _ = self.first_block.set(first_block);
        }
        coverage
    }

    async fn stats(&self) -> Result<Stats, StoreError> {
        read_statement!(self, |client| read::stats(&client))
    }

    async fn list_gas_prices(&self, blocks: u32) -> Result<Vec<BlockGasPrice>, StoreError> {
        read_snapshot!(self, |client| read::list_gas_prices(&client, blocks))
    }

    async fn list_days(&self, count: u32) -> Result<Vec<DayFigures>, StoreError> {
        read_snapshot!(self, |client| read::list_days(&client, count))
    }
}

const NO_CODE: i16 = 0;
const CONTRACT: i16 = 1;
const DELEGATION: i16 = 2;

#[async_trait]
impl CachedAccounts for PostgresReader {
    async fn find_account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        let client = self.database.connection().await?;
        let sql = "select balance, nonce, code, code_reference, block from account where address = $1";
        let Some(row) = find(&client, sql, &[&address.as_slice()]).await? else { return Ok(None) };
        let code = match row.value::<i16>(2)? {
            NO_CODE => Code::None,
            CONTRACT => Code::Contract { hash: row.hash(3)? },
            DELEGATION => Code::Delegation { target: row.address(3)? },
            _ => return Err(StoreError::Corrupt("an account with an unknown kind of code")),
        };
        Ok(Some(Account { balance: row.amount(0)?, nonce: row.u64(1)?, code, block: row.u64(4)? }))
    }

    async fn save_account(&self, address: Address, account: Account) -> Result<(), StoreError> {
        let client = self.database.connection().await?;
        let (kind, reference) = match &account.code {
            Code::None => (NO_CODE, None),
            Code::Contract { hash } => (CONTRACT, Some(hash.as_slice())),
            Code::Delegation { target } => (DELEGATION, Some(target.as_slice())),
        };
        let sql = "insert into account values ($1, $2, $3, $4, $5, $6) on conflict (address) do update set
            balance = excluded.balance, nonce = excluded.nonce, code = excluded.code,
            code_reference = excluded.code_reference, block = excluded.block";
        let (balance, nonce, block) = (Numeric::from(account.balance), int8(account.nonce), int8(account.block));
        execute(&client, sql, &[&address.as_slice(), &balance, &nonce, &kind, &reference, &block]).await?;
        Ok(())
    }
}

#[async_trait]
impl CachedFailures for PostgresReader {
    async fn find_failure(&self, transaction: B256, block: B256) -> Result<Option<TransactionFailure>, StoreError> {
        let client = self.database.connection().await?;
        let sql = "select error, data, source from transaction_failure where transaction = $1 and block = $2";
        let Some(row) = find(&client, sql, &[&transaction.as_slice(), &block.as_slice()]).await? else {
            return Ok(None);
        };
        failure_from_row(&row).map(Some)
    }

    async fn save_failure(
        &self,
        transaction: B256,
        block: B256,
        failure: TransactionFailure,
    ) -> Result<(), StoreError> {
        put_failure(&self.database.connection().await?, transaction, block, &failure).await
    }
}

/// From the columns error, data and source.
pub(crate) fn failure_from_row(row: &Row) -> Result<TransactionFailure, StoreError> {
    let data = row.value::<Option<Vec<u8>>>(1)?.map(Bytes::from);
    Ok(TransactionFailure { error: row.value(0)?, data, source: row.kind(2)? })
}

pub(crate) async fn put_failure(
    client: &dyn Connection,
    transaction: B256,
    block: B256,
    failure: &TransactionFailure,
) -> Result<(), StoreError> {
    let sql = "insert into transaction_failure values ($1, $2, $3, $4, $5) on conflict (transaction) do update set
        block = excluded.block, error = excluded.error, data = excluded.data, source = excluded.source";
    // PostgreSQL's text cannot contain a null character.
    let error = failure.error.replace('\0', "\u{fffd}");
    let data = failure.data.as_ref().map(|data| data.as_ref());
    execute(client, sql, &[&transaction.as_slice(), &block.as_slice(), &error, &data, &int2(failure.source)]).await?;
    Ok(())
}
