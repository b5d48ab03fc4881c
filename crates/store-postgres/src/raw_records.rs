//! Reads all records, and writes those of another store. Rows are read and written by the modules that own them.

use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::Transaction;
use domain::UnixMillis;
use futures::{StreamExt, TryStreamExt, stream};
use store::{FailureRecord, RawRecords, Record, RecordImport, RecordKind, RecordPosition, StoreError};

use crate::{
    database::{Connection, Database, execute, find, get, query, snapshot},
    error::store_error,
    locks,
    ranks::RankedSet,
    reader::{failure_from_row, put_failure},
    rows::{RowExt, limit},
    user_records::raw as keys,
    verified_contracts::raw as verified,
    versions::{self, Versions},
    webhook_records::{PostgresWebhookRecords, raw as webhooks},
};

/// Statements in flight: a remote server answers none of them at once.
const IN_FLIGHT: usize = 64;

/// The rows that are counted for the progress of an export.
const COUNT_RECORDS: &str = "select (select count(*) from api_key) + (select count(*) from api_key_proof)
    + (select count(*) from verified_code) + (select count(*) from verified_contract)
    + (select count(*) from verified_deployment) + (select count(*) from verification_job)
    + (select count(*) from transaction_failure) + (select count(*) from webhook) + (select count(*) from delivery_log)
    + (select count(*) from event) + (select count(*) from delivery) + (select count(*) from matched_block)";

/// Records of users.
const HAS_RECORDS: &str = "select exists (select 1 from api_key) or exists (select 1 from verified_contract)
    or exists (select 1 from verification_job) or exists (select 1 from webhook) or exists (select 1 from delivery_log)";

const DELETE_RECORDS: [&str; 2] = [
    "truncate api_key, api_key_proof, verified_code, verified_contract, verified_deployment, verification_job, webhook,
        webhook_change, delivery_log, event, delivery, matched_block, orphaned_block, delivery_of_block",
    "update webhook_progress set version = 0, last_webhook = 0, last_event = 0, cursor_number = null, cursor_hash = null,
        retracting_from = null, internal_cursor = null, is_copied = false, webhooks = 0, pending = 0",
];

#[derive(Debug)]
pub(crate) struct PostgresRawRecords {
    database: Database,
    versions: Arc<Versions>,
    webhooks: PostgresWebhookRecords,
}

impl PostgresRawRecords {
    pub(crate) fn new(database: Database, versions: Arc<Versions>, webhooks: PostgresWebhookRecords) -> Self {
        Self { database, versions, webhooks }
    }
}

#[async_trait]
impl RawRecords for PostgresRawRecords {
    async fn find_import(&self) -> Result<Option<RecordImport>, StoreError> {
        let client = self.database.connection().await?;
        let row = find(&client, "select state from record_import", &[]).await?;
        row.map(|row| RecordImport::from_row(row.value(0)?)).transpose()
    }

    async fn save_import(&self, import: Option<RecordImport>) -> Result<(), StoreError> {
        let client = self.database.connection().await?;
        match import {
            Some(import) => {
                let sql = "insert into record_import (state) values ($1) on conflict (is_only) do update set
                    state = excluded.state";
                execute(&client, sql, &[&import.to_row()?]).await?;
            }
            None => {
                execute(&client, "delete from record_import", &[]).await?;
            }
        }
        Ok(())
    }

    async fn has_records(&self) -> Result<bool, StoreError> {
        get(&self.database.connection().await?, HAS_RECORDS, &[]).await?.value(0)
    }

    async fn count_records(&self) -> Result<u64, StoreError> {
        get(&self.database.connection().await?, COUNT_RECORDS, &[]).await?.u64(0)
    }

    async fn read_records(
        &self,
        kind: RecordKind,
        after: Option<RecordPosition>,
        count: usize,
        _now: UnixMillis,
    ) -> Result<Vec<Record>, StoreError> {
        RecordPosition::check(after, kind)?;
        let mut connection = self.database.connection().await?;
        let client = &snapshot(&mut connection).await?;
        match kind {
            RecordKind::ApiKey => keys::read_keys(client, after, count).await,
            RecordKind::UsedProof => keys::read_proofs(client, after, count).await,
            RecordKind::VerifiedCode => verified::read_codes(client, after, count).await,
            RecordKind::VerifiedContract => verified::read_contracts(client, after, count).await,
            RecordKind::Deployment => verified::read_deployments(client, after, count).await,
            RecordKind::Job => verified::read_jobs(client, after, count).await,
            RecordKind::Failure => read_failures(client, after, count).await,
            RecordKind::Webhook => webhooks::read_webhooks(client, after, count).await,
            RecordKind::DeliveryLog => webhooks::read_logs(client, after, count).await,
            RecordKind::Event => webhooks::read_events(client, after, count).await,
            RecordKind::Delivery => webhooks::read_deliveries(client, after, count).await,
            RecordKind::MatchedBlock => webhooks::read_matched_blocks(client, after, count).await,
            RecordKind::OrphanedBlock => webhooks::read_orphaned_blocks(client, after, count).await,
            RecordKind::Matching if after.is_some() => Ok(Vec::new()),
            RecordKind::Matching => Ok(vec![webhooks::read_matching(client).await?]),
        }
    }

    fn pinned(&self) -> Option<Arc<dyn RawRecords>> {
        None
    }

    async fn write_records(&self, records: Vec<Record>) -> Result<(), StoreError> {
        let mut client = self.database.connection().await?;
        let tx = client.transaction().await.map_err(store_error)?;
        query(&tx, "select pg_advisory_xact_lock($1)", &[&locks::LISTING]).await?;
        let writes: Vec<_> = records.iter().map(|record| write(&tx, record)).collect();
        stream::iter(writes).buffered(IN_FLIGHT).try_for_each(|()| std::future::ready(Ok(()))).await?;
        versions::commit(tx, &self.versions).await?;
        if records.iter().any(|record| matches!(record, Record::Matching(_))) {
            self.webhooks.read_totals().await?;
        }
        Ok(())
    }

    async fn delete_records(&self) -> Result<(), StoreError> {
        let mut client = self.database.connection().await?;
        let tx = client.transaction().await.map_err(store_error)?;
        query(&tx, "select pg_advisory_xact_lock($1)", &[&locks::LISTING]).await?;
        for sql in DELETE_RECORDS {
            execute(&tx, sql, &[]).await?;
        }
        for table in ["rank_member", "rank_bucket"] {
            let sql = format!("delete from {table} where kind = $1");
            execute(&tx, &sql, &[&RankedSet::VerifiedContracts.kind()]).await?;
        }
        versions::commit(tx, &self.versions).await?;
        self.webhooks.read_totals().await
    }
}

async fn write(tx: &Transaction<'_>, record: &Record) -> Result<(), StoreError> {
    match record {
        Record::ApiKey(key) => keys::write_key(tx, key).await,
        Record::UsedProof(proof) => keys::write_proof(tx, proof).await,
        Record::VerifiedCode(record) => verified::write_code(tx, record).await,
        Record::VerifiedContract(contract) => verified::write_contract(tx, contract).await,
        Record::Deployment(record) => verified::write_deployment(tx, record).await,
        Record::Job(record) => verified::write_job(tx, record).await,
        Record::Failure(record) => put_failure(tx, record.transaction, record.block, &record.failure).await,
        Record::Webhook(webhook) => webhooks::write_webhook(tx, webhook).await,
        Record::DeliveryLog(log) => webhooks::write_log(tx, log).await,
        Record::Event(event) => webhooks::write_event(tx, event).await,
        Record::Delivery(record) => webhooks::write_delivery(tx, record).await,
        Record::MatchedBlock(matched) => webhooks::write_matched_block(tx, matched).await,
        Record::OrphanedBlock(block) => webhooks::write_orphaned_block(tx, block).await,
        Record::Matching(matching) => webhooks::write_matching(tx, matching).await,
    }
}

async fn read_failures(
    client: &dyn Connection,
    after: Option<RecordPosition>,
    count: usize,
) -> Result<Vec<Record>, StoreError> {
    let after = match after {
        Some(RecordPosition::Failure(transaction)) => transaction.to_vec(),
        _ => Vec::new(),
    };
    let sql = "select error, data, source, transaction, block from transaction_failure where transaction > $1
        order by transaction limit $2";
    let rows = query(client, sql, &[&after, &limit(count)]).await?;
    let failure = |row: &tokio_postgres::Row| -> Result<Record, StoreError> {
        let (transaction, block, failure) = (row.hash(3)?, row.hash(4)?, failure_from_row(row)?);
        Ok(Record::Failure(FailureRecord { transaction, block, failure }))
    };
    rows.iter().map(failure).collect()
}
