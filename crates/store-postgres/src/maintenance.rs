//! What an operator wants to know about a database: its size, and whether it is consistent.

use futures::future::BoxFuture;
use store::{StoreCheck, StoreError, StoreFault, StorePart};

use crate::{
    PostgresStore,
    database::{get, query},
    error::store_error,
    migrations,
    rows::RowExt,
};

/// The size of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSize {
    pub table: String,
    /// Estimated by the server; None if it has not counted them yet.
    pub rows: Option<u64>,
    /// Of the table itself, in bytes.
    pub heap: u64,
    /// Of its indexes, in bytes.
    pub indexes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerVersion {
    pub server: String,
    /// The number of the newest migration.
    pub schema: u32,
}

/// Rows with ids without gaps, and their total in the row of the chain.
const NUMBERED: [(&str, &str); 10] = [
    ("transaction", "transactions"),
    ("transfer", "transfers"),
    ("trade", "trades"),
    ("(select id + generate_series(0, log_count(entries) - 1) as id from log_pack) log", "logs"),
    ("log_topic", "log_topics"),
    ("log_source", "log_sources"),
    ("address", "addresses"),
    ("nft", "nfts"),
    ("approval", "approvals"),
    ("credit", "credits"),
];

impl PostgresStore {
    /// Of the server and of the tables.
    ///
    /// # Errors
    /// If the database fails.
    pub fn version(&self) -> BoxFuture<'_, Result<ServerVersion, StoreError>> {
        Box::pin(async move {
            let client = self.database().connection().await?;
            let server = get(&client, "select current_setting('server_version')", &[]).await?.value(0)?;
            let schema = migrations::applied(&client, self.database().schema()).await?.unwrap_or_default();
            Ok(ServerVersion { server, schema })
        })
    }

    /// The sizes of all tables, the largest first.
    ///
    /// # Errors
    /// If the database fails.
    pub fn sizes(&self) -> BoxFuture<'_, Result<Vec<TableSize>, StoreError>> {
        Box::pin(async move {
            let client = self.database().connection().await?;
            // The live count is that since the last crash or promotion of the server, and 0 on a standby. The other one is that of the
            // last analysis, with the density of then, as the planner estimates it.
            let sql = "select c.relname::text,
                case when pg_relation_size(c.oid) = 0 then 0
                    when c.relpages > 0 then greatest(s.n_live_tup, (c.reltuples::float8 / c.relpages
                        * (pg_relation_size(c.oid) / current_setting('block_size')::int8))::int8)
                    else nullif(s.n_live_tup, 0) end,
                pg_table_size(c.oid), pg_indexes_size(c.oid)
                from pg_class c left join pg_stat_all_tables s on s.relid = c.oid where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
                order by pg_total_relation_size(c.oid) desc, c.relname";
            query(&client, sql, &[])
                .await?
                .iter()
                .map(|row| {
                    Ok(TableSize {
                        table: row.value(0)?,
                        rows: row.option_u64(1)?,
                        heap: row.u64(2)?,
                        indexes: row.u64(3)?,
                    })
                })
                .collect()
        })
    }

    /// Collects the statistics by which queries are planned, of tables that have doubled since: autovacuum comes late after a backfill.
    /// Returns their number.
    ///
    /// # Errors
    /// If the database fails.
    pub fn analyze_grown(&self) -> BoxFuture<'_, Result<usize, StoreError>> {
        Box::pin(async move {
            let client = self.database().connection().await?;
            let sql = "select format('analyze %I.%I', n.nspname, c.relname) from pg_class c
                join pg_namespace n on n.oid = c.relnamespace join pg_stat_all_tables s on s.relid = c.oid
                where n.oid = current_schema()::regnamespace and c.relkind = 'r' and s.n_mod_since_analyze > 1000
                    and s.n_mod_since_analyze >= s.n_live_tup / 2";
            let grown = query(&client, sql, &[]).await?;
            for table in &grown {
                client.batch_execute(&table.value::<String>(0)?).await.map_err(store_error)?;
            }
            Ok(grown.len())
        })
    }

    /// Compares the totals with the rows, and reports settings with which acknowledged data can be lost. Reads whole tables.
    ///
    /// # Errors
    /// If the database fails.
    pub fn check(&self) -> BoxFuture<'_, Result<StoreCheck, StoreError>> {
        Box::pin(async move {
            let mut client = self.database().connection().await?;
            let client = crate::database::snapshot(&mut client).await?;
            let sql = "set local enable_hashjoin = on; set local enable_mergejoin = on";
            client.batch_execute(sql).await.map_err(store_error)?;
            let mut faults = Vec::new();
            let mut add = |part, found| faults.push(StoreFault { found, blocks: None, part });
            for (setting, consequence) in [
                ("fsync", "a crash of the server can damage the database"),
                ("synchronous_commit", "a crash of the server can lose acknowledged data"),
            ] {
                let value: String = get(&client, "select current_setting($1)", &[&setting]).await?.value(0)?;
                if value == "off" {
                    add(StorePart::Settings, format!("{setting} is off: {consequence}"));
                }
            }
            let sql = "select count(*), coalesce(max(number) - min(number) + 1, 0),
                (select coalesce(tip_number - first_block + 1, 0) from chain) from block";
            let row = get(&client, sql, &[]).await?;
            let (blocks, span, expected) = (row.u64(0)?, row.u64(1)?, row.u64(2)?);
            if blocks != span || blocks != expected {
                add(StorePart::Index, format!("there are {blocks} blocks, but the chain has {expected}"));
            }
            let sql =
                "select count(*) from block b join block p on p.number = b.number - 1 where p.hash <> b.parent_hash";
            let unlinked = get(&client, sql, &[]).await?.u64(0)?;
            if unlinked > 0 {
                add(
                    StorePart::Index,
                    format!("{unlinked} blocks do not have the hash of the block before as their parent"),
                );
            }
            let mut transactions = 0;
            for (numbered, total) in NUMBERED {
                let sql =
                    format!("select count(*), coalesce(max(id) + 1, 0), (select {total} from chain) from {numbered}");
                let row = get(&client, &sql, &[]).await?;
                let (rows, end, expected) = (row.u64(0)?, row.u64(1)?, row.u64(2)?);
                if rows != expected || end != expected {
                    add(
                        StorePart::Index,
                        format!("there are {rows} {total} with ids up to {end}, but the chain has {expected}"),
                    );
                }
                if total == "transactions" {
                    transactions = rows;
                }
            }
            let sql = "select count(*) from block b where tx_count <> (select count(*) from transaction t
                where t.id >= b.transactions and t.id < b.transactions + b.tx_count and t.block = b.number)";
            let incomplete = get(&client, sql, &[]).await?.u64(0)?;
            if incomplete > 0 {
                add(StorePart::Index, format!("{incomplete} blocks do not have all their transactions"));
            }
            let sql = "select (select coalesce(sum(gas_used), 0) = c.total_gas
                    from block),
                (select coalesce(sum(fee(t)), 0) = c.fees and coalesce(sum(
                    case when t.fee_currency is null then coalesce(t.blob_fee, 0)
                        + t.gas_used * least(t.gas_price, coalesce(b.base_fee_per_gas, 0)) else 0 end
                ), 0) = c.burnt_fees from transaction t join block b on b.number = t.block) from chain c";
            let row = get(&client, sql, &[]).await?;
            if !(row.value::<bool>(0)? && row.value::<bool>(1)?) {
                add(StorePart::Index, "the totals of gas and fees do not match the blocks and transactions".to_owned());
            }
            Ok(StoreCheck { blocks, transactions, faults })
        })
    }
}
