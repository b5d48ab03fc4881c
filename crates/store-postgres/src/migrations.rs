//! The schema, as numbered migrations that only go forward.

use deadpool_postgres::Transaction;
use domain::{B256, ChainIdentity};
use store::{OlderIndex, StoreError};
use tokio_postgres::Client;

use crate::{
    chain::Chain,
    database::{Object, execute, find, get, query},
    error::store_error,
    locks,
    old_server::OldServer,
    rows::{RowExt, int8},
};

/// The migrations that a version knows, in order: the first one is number 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migrations<'a>(pub(crate) &'a [&'a str]);

/// The files in the folder `migrations`.
pub(crate) const MIGRATIONS: Migrations<'static> = Migrations(&include!(concat!(env!("OUT_DIR"), "/migrations.rs")));

/// A line of a migration that takes more from blocks than those before: an index that was filled before is filled again.
pub(crate) const REFILL: &str = "-- refill the index";

/// Besides lists, the tables that are filled again. All others are kept.
const INDEX_TABLES: [&str; 33] = [
    "account",
    "address",
    "address_code",
    "approval",
    "approval_undo",
    "balance",
    "block",
    "code",
    "compaction",
    "creation",
    "credit",
    "indexer",
    "internal_block",
    "internal_party",
    "internal_transaction",
    "log_pack",
    "log_source",
    "log_topic",
    "nft",
    "nft_balance",
    "nft_metadata",
    "pending_balance",
    "pending_code",
    "pool",
    "rank_bucket",
    "rank_member",
    "token",
    "token_name",
    "touched_balance",
    "transaction",
    "transfer",
    "trade",
    "unranked_balance",
];
const LIST_SUFFIX: &str = "_run";

const OLDEST_SERVER: i32 = 140_000;

impl Migrations<'_> {
    /// Checks the version of the server, and applies the migrations that are missing. Processes that start together wait for
    /// each other.
    pub(crate) async fn migrate(self, client: &mut Object, schema: &str, older: OlderIndex) -> Result<(), StoreError> {
        check_server(client).await?;
        let known = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        if applied(client, schema).await?.unwrap_or_default() < known {
            // Locked outside of a transaction: one that has begun before does not see a table that was created meanwhile.
            query(client, "select pg_advisory_lock($1)", &[&locks::MIGRATION]).await?;
            let result = self.apply_missing(client, schema, older).await;
            query(client, "select pg_advisory_unlock($1)", &[&locks::MIGRATION]).await?;
            result?;
        }
        match applied(client, schema).await? {
            Some(stored) if stored > known => Err(StoreError::NewerSchema { stored, known }),
            _ => Ok(()),
        }
    }

    /// The oldest index that can be used, by the migration that it was filled after.
    fn oldest_index(self) -> u32 {
        let refills = (1..).zip(self.0).filter(|(_, migration)| migration.lines().any(|line| line == REFILL));
        refills.map(|(number, _)| number).max().unwrap_or(1)
    }

    /// Applies each migration in its own transaction; in one, if the index is emptied before.
    async fn apply_missing(self, client: &mut Object, schema: &str, older: OlderIndex) -> Result<(), StoreError> {
        let before = applied(client, schema).await?.unwrap_or_default();
        let missing = (1..).zip(self.0).filter(|(number, _)| *number > before);
        let oldest_index = self.oldest_index();
        if before > 0 && before < oldest_index && has_blocks(client, schema).await? {
            if older != OlderIndex::Replace {
                return Err(StoreError::OlderSchema { stored: before, known: oldest_index });
            }
            let tx = client.transaction().await.map_err(store_error)?;
            empty_index(&tx, schema, before).await?;
            for (number, migration) in missing {
                apply(&tx, schema, number, migration).await?;
            }
            // Webhooks wait until the index has reached their cursor again.
            let sql = "update webhook_progress set is_copied = true where cursor_number is not null";
            tx.batch_execute(sql).await.map_err(store_error)?;
            return tx.commit().await.map_err(store_error);
        }
        for (number, migration) in missing {
            let tx = client.transaction().await.map_err(store_error)?;
            apply(&tx, schema, number, migration).await?;
            tx.commit().await.map_err(store_error)?;
        }
        Ok(())
    }
}

async fn apply(tx: &Transaction<'_>, schema: &str, number: u32, migration: &str) -> Result<(), StoreError> {
    tracing::info!(number, "migrating the database");
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
    Ok(())
}

fn is_index(table: &str) -> bool {
    INDEX_TABLES.contains(&table) || table.ends_with(LIST_SUFFIX)
}

/// Empties the tables of the index. Which chain it is, and its first block, stay known.
async fn empty_index(tx: &Transaction<'_>, schema: &str, before: u32) -> Result<(), StoreError> {
    for lock in [locks::WRITER, locks::MATCHING] {
        if !query(tx, "select 1 where pg_try_advisory_xact_lock($1)", &[&lock]).await?.is_empty() {
            continue;
        }
        let reason = "an explorer of an earlier version has the database open: stop it, then the index is filled again";
        return Err(StoreError::Unavailable { reason: reason.to_owned() });
    }
    tracing::warn!(
        schema = before,
        "an earlier version has written this index: the chain is indexed again; keys, webhooks, messages and verified \
         contracts are kept"
    );
    let emptied = list_index_tables(tx, schema).await?;
    tx.batch_execute(&format!("truncate {}", emptied.join(", "))).await.map_err(store_error)?;
    let sql = "delete from internal_progress; insert into internal_progress default values";
    tx.batch_execute(sql).await.map_err(store_error)?;
    let sql = "delete from chain returning chain_id, genesis_hash, start_block";
    let chain = tx.query_one(sql, &[]).await.map_err(store_error)?;
    let (id, genesis, start): (Option<i64>, Option<Vec<u8>>, Option<i64>) =
        (chain.value(0)?, chain.value(1)?, chain.value(2)?);
    let sql = "insert into chain (chain_id, genesis_hash, start_block) values ($1, $2, $3)";
    tx.execute(sql, &[&id, &genesis, &start]).await.map_err(store_error)?;
    let sql = "update writer set epoch = epoch + 1; update state_version set number = number + 1";
    tx.batch_execute(sql).await.map_err(store_error)
}

async fn list_index_tables(tx: &Transaction<'_>, schema: &str) -> Result<Vec<String>, StoreError> {
    let tables = tx.query("select tablename::text from pg_tables where schemaname = $1", &[&schema]).await;
    let tables: Vec<String> = tables.map_err(store_error)?.iter().map(|row| row.value(0)).collect::<Result<_, _>>()?;
    Ok(tables.into_iter().filter(|table| is_index(table)).collect())
}

/// Above this, tables are truncated: queries wait, or fail once.
const MAX_DELETED_TRANSACTIONS: u64 = 1_000_000;

/// Empties the tables of an index that is in use, and binds it to another chain. Queries see the index before or after it.
pub(crate) async fn start_over(tx: &Transaction<'_>, identity: ChainIdentity) -> Result<(), StoreError> {
    let chain = Chain::read(tx).await?;
    let schema: String = get(tx, "select current_schema()::text", &[]).await?.value(0)?;
    let mut emptied = list_index_tables(tx, &schema).await?;
    // The status row of this process.
    emptied.retain(|table| table != "indexer");
    let sql = match chain.totals.transactions > MAX_DELETED_TRANSACTIONS {
        true => format!("truncate {}", emptied.join(", ")),
        false => {
            // Others may merge runs of lists, which must not appear later.
            let lock = format!("lock table {} in exclusive mode; ", emptied.join(", "));
            let deletes: Vec<String> = emptied.iter().map(|table| format!("delete from {table}")).collect();
            lock + &deletes.join("; ")
        }
    };
    tx.batch_execute(&sql).await.map_err(store_error)?;
    let first = chain.start_block.unwrap_or_default();
    let sql = "delete from chain; delete from internal_progress; insert into internal_progress default values";
    tx.batch_execute(sql).await.map_err(store_error)?;
    let sql = "insert into chain (chain_id, genesis_hash, start_block) values ($1, $2, $3)";
    let hash = identity.genesis_hash;
    execute(tx, sql, &[&int8(identity.chain_id), &hash.as_slice(), &int8(first)]).await?;
    // All matched blocks are orphaned. Only the newest of them are known; one that no chain has says that none below is
    // canonical either.
    let sql =
        "insert into matched_block select $1::int8, $2::bytea, 0 from webhook_progress where cursor_number is not null
        on conflict (number) do update set hash = excluded.hash, known_to = excluded.known_to";
    execute(tx, sql, &[&int8(first), &B256::ZERO.as_slice()]).await?;
    execute(tx, "update webhook_progress set is_copied = false", &[]).await?;
    Ok(())
}

async fn has_blocks(client: &Client, schema: &str) -> Result<bool, StoreError> {
    // Not cached: the table changes.
    let sql = format!("select count(*) > 0 from {schema}.chain where tip_number is not null");
    client.query_one(&sql, &[]).await.map_err(store_error)?.value(0)
}

async fn check_server(client: &Client) -> Result<(), StoreError> {
    let row = client.query_one("select current_setting('server_version_num')::int4, version()", &[]).await;
    let row = row.map_err(store_error)?;
    if row.value::<i32>(0)? < OLDEST_SERVER {
        let version: String = row.value(1)?;
        return Err(StoreError::Backend(Box::new(OldServer { required: OLDEST_SERVER / 10_000, version })));
    }
    Ok(())
}

/// The number of the newest migration in the database; None if it has none.
pub(crate) async fn applied(client: &Object, schema: &str) -> Result<Option<u32>, StoreError> {
    let table = format!("{schema}.schema_migration");
    if find(client, "select 1 where to_regclass($1) is not null", &[&table]).await?.is_none() {
        return Ok(None);
    }
    // Not cached: the table did not exist when the connection was opened.
    let row = client.query_one("select coalesce(max(number), 0) from schema_migration", &[]).await;
    Ok(Some(row.map_err(store_error)?.u32(0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What users left, what processes share, and the rows that an emptied index keeps.
    const KEPT: [&str; 29] = [
        "api_key",
        "api_key_proof",
        "chain",
        "delivery",
        "delivery_log",
        "delivery_of_block",
        "event",
        "heartbeat",
        "internal_progress",
        "matched_block",
        "orphaned_block",
        "queue_owner",
        "quota_request",
        "recalled_lease",
        "record_import",
        "request_quota",
        "running_verification",
        "sender",
        "state_version",
        "transaction_failure",
        "verification_job",
        "verified_code",
        "verified_contract",
        "verified_deployment",
        "webhook",
        "webhook_change",
        "webhook_progress",
        "writer",
        "%1$s_run",
    ];

    #[test]
    fn every_table_is_kept_or_emptied_by_decision() {
        let created = MIGRATIONS.0.iter().flat_map(|migration| {
            let words: Vec<&str> = migration.split_whitespace().collect();
            let is_named = |words: &&[&str]| matches!(words, ["create", "table", _] | ["unlogged", "table", _]);
            words.windows(3).filter(is_named).map(|words| words[2].to_owned()).collect::<Vec<_>>()
        });
        let mut created: Vec<String> = created.collect();
        created.sort();
        created.dedup();
        let mut known: Vec<&str> = INDEX_TABLES.into_iter().chain(KEPT).collect();
        known.sort_unstable();
        assert_eq!(created, known);
    }
}
