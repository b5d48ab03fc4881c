//! The schema, as numbered migrations that only go forward.

use deadpool_postgres::{GenericClient, Object};
use store::StoreError;

use crate::{
    database::{find, query},
    error::store_error,
    locks,
    rows::RowExt,
};

/// The SQL of each migration, in order: the first one is number 1.
const MIGRATIONS: [&str; 16] = [
    include_str!("../migrations/0001_chain.sql"),
    include_str!("../migrations/0002_lists.sql"),
    include_str!("../migrations/0003_records.sql"),
    include_str!("../migrations/0004_views.sql"),
    include_str!("../migrations/0005_request_quotas.sql"),
    include_str!("../migrations/0006_running_verifications.sql"),
    include_str!("../migrations/0007_heartbeats.sql"),
    include_str!("../migrations/0008_queue_owners.sql"),
    include_str!("../migrations/0009_compaction.sql"),
    include_str!("../migrations/0010_record_transfer.sql"),
    include_str!("../migrations/0011_internal.sql"),
    include_str!("../migrations/0012_internal_cursor.sql"),
    include_str!("../migrations/0013_logs.sql"),
    include_str!("../migrations/0014_nfts.sql"),
    include_str!("../migrations/0015_approvals.sql"),
    include_str!("../migrations/0016_packed_logs.sql"),
];

/// An index that an earlier version filled lacks data that later ones take from blocks: it is filled again.
const OLDEST_INDEX: u32 = 16;

const OLDEST_SERVER: i32 = 140_000;

#[derive(Debug, thiserror::Error)]
#[error("PostgreSQL {required} or later is required, but the server is {version}")]
pub(crate) struct OldServer {
    required: i32,
    version: String,
}

/// Checks the version of the server, and applies the migrations that are missing. Processes that start together wait for
/// each other.
pub(crate) async fn migrate(client: &mut Object, schema: &str) -> Result<(), StoreError> {
    check_server(client).await?;
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    if applied(client, schema).await?.unwrap_or_default() < known {
        // Locked outside of a transaction: one that has begun before does not see a table that was created meanwhile.
        query(client, "select pg_advisory_lock($1)", &[&locks::MIGRATION]).await?;
        let result = apply_missing(client, schema).await;
        query(client, "select pg_advisory_unlock($1)", &[&locks::MIGRATION]).await?;
        result?;
    }
    match applied(client, schema).await? {
        Some(stored) if stored > known => Err(StoreError::NewerSchema { stored, known }),
        _ => Ok(()),
    }
}

/// Applies each migration in its own transaction.
async fn apply_missing(client: &mut Object, schema: &str) -> Result<(), StoreError> {
    let before = applied(client, schema).await?.unwrap_or_default();
    if before > 0 && before < OLDEST_INDEX && has_blocks(client, schema).await? {
        return Err(StoreError::OlderSchema { stored: before, known: OLDEST_INDEX });
    }
    for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > before) {
        tracing::info!(number, "migrating the database");
        let tx = client.transaction().await.map_err(store_error)?;
        if number == 1 {
            let begin = format!(
                "create schema if not exists {schema}; create table schema_migration (number int4 primary key, \
                 applied_at timestamptz not null default now())"
            );
            tx.batch_execute(&begin).await.map_err(store_error)?;
        }
        tx.batch_execute(migration).await.map_err(store_error)?;
        let number = i32::try_from(number).unwrap_or(i32::MAX);
        tx.execute("insert into schema_migration (number) values ($1)", &[&number]).await.map_err(store_error)?;
        tx.commit().await.map_err(store_error)?;
    }
    Ok(())
}

async fn has_blocks(client: &impl GenericClient, schema: &str) -> Result<bool, StoreError> {
    // Not cached: the table changes.
    let sql = format!("select count(*) > 0 from {schema}.chain where tip_number is not null");
    client.query_one(&sql, &[]).await.map_err(store_error)?.value(0)
}

async fn check_server(client: &impl GenericClient) -> Result<(), StoreError> {
    let row = client.query_one("select current_setting('server_version_num')::int4, version()", &[]).await;
    let row = row.map_err(store_error)?;
    if row.value::<i32>(0)? < OLDEST_SERVER {
        let version: String = row.value(1)?;
        return Err(StoreError::Backend(Box::new(OldServer { required: OLDEST_SERVER / 10_000, version })));
    }
    Ok(())
}

/// The number of the newest migration in the database; None if it has none.
pub(crate) async fn applied(client: &impl GenericClient, schema: &str) -> Result<Option<u32>, StoreError> {
    let table = format!("{schema}.schema_migration");
    if find(client, "select 1 where to_regclass($1) is not null", &[&table]).await?.is_none() {
        return Ok(None);
    }
    // Not cached: the table did not exist when the connection was opened.
    let row = client.query_one("select coalesce(max(number), 0) from schema_migration", &[]).await;
    Ok(Some(row.map_err(store_error)?.u32(0)?))
}
