//! The advisory locks of a database, and the heartbeats of those that a process holds for long.

use std::time::Duration;

use store::StoreError;
use tokio_postgres::Client;

use crate::error::store_error;

/// How often the holder of a lock shows that it runs.
pub(crate) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// The holder of a lock whose heartbeat is older loses it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(8);

/// Held while the schema changes.
pub(crate) const MIGRATION: i64 = 0x6578_706c_0000_0001;
/// Held by the writer of the index, as long as its connection lives.
pub(crate) const WRITER: i64 = 0x6578_706c_0000_0002;
/// Held by changes of API keys.
pub(crate) const KEYS: i64 = 0x6578_706c_0000_0003;
/// Held by changes of verified contracts, and of the code at their addresses: the list of contracts follows from both.
pub(crate) const LISTING: i64 = 0x6578_706c_0000_0004;
/// Held by changes of webhooks and their messages.
pub(crate) const WEBHOOKS: i64 = 0x6578_706c_0000_0005;
/// Held by changes of verification jobs.
pub(crate) const JOBS: i64 = 0x6578_706c_0000_0006;
/// Held by the process that matches blocks with webhooks, as long as its connection lives.
pub(crate) const MATCHING: i64 = 0x6578_706c_0000_0007;

/// Shows that the holder of a lock runs.
pub(crate) async fn write_heartbeat(client: &Client, lock: i64) -> Result<(), StoreError> {
    let sql = "insert into heartbeat values ($1, clock_timestamp())
        on conflict (lock) do update set beaten_at = excluded.beaten_at";
    client.execute(sql, &[&lock]).await.map_err(store_error)?;
    Ok(())
}

/// Ends all connections of the process that holds a lock, if it no longer responds: other locks that it holds would stop the rest.
/// Its later writes are refused, since it has lost the lock.
pub(crate) async fn end_silent_holder(client: &Client, lock: i64) -> Result<(), StoreError> {
    // An advisory lock with one key has its halves in two columns.
    let sql = "select pg_terminate_backend(other.pid) from pg_locks l join heartbeat h on h.lock = $1
        join pg_stat_activity holder on holder.pid = l.pid
        join pg_stat_activity other
            on other.datname = current_database() and other.application_name = holder.application_name
        where l.locktype = 'advisory' and l.granted and l.objsubid = 1
            and l.database = (select oid from pg_database where datname = current_database())
            and (l.classid::int8 << 32 | l.objid::int8) = $1
            and holder.application_name <> current_setting('application_name')
            and h.beaten_at < clock_timestamp() - $2 * interval '1 second'";
    let ended = client.query(sql, &[&lock, &LOCK_TIMEOUT.as_secs_f64()]).await.map_err(store_error)?;
    if !ended.is_empty() {
        tracing::warn!(
            connections = ended.len(),
            "ended the connections of a process that holds a lock and no longer responds"
        );
    }
    Ok(())
}
