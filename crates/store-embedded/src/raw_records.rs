//! Reads all records, and writes those of another store. Rows are read and written by the modules that own them.

use std::sync::Arc;

use async_trait::async_trait;
use domain::UnixMillis;
use store::{FailureRecord, RawRecords, Record, RecordImport, RecordKind, RecordPosition, StoreError};

use crate::{
    blocking::run_blocking,
    engine::{Batch, Engine, View},
    keys::{Key, Table},
    rows::{failure_from_row, failure_to_row},
    user_records::raw as keys,
    verified_contracts::{EmbeddedVerifiedContracts, LISTED, raw as verified},
    webhook_records::{EmbeddedWebhookRecords, raw as webhooks},
};

/// The rows that are counted for the progress of an export.
const COUNTED: [Table; 12] = [
    Table::ApiKey,
    Table::ApiKeyProof,
    Table::VerifiedCode,
    Table::VerifiedByNumber,
    Table::VerifiedDeployment,
    Table::VerificationJobByNumber,
    Table::Failure,
    Table::Webhook,
    Table::DeliveryLog,
    Table::Event,
    Table::Delivery,
    Table::MatchedBlock,
];

/// What users leave.
const LEFT_BY_USERS: [Table; 5] =
    [Table::ApiKey, Table::VerifiedByNumber, Table::VerificationJobByNumber, Table::Webhook, Table::DeliveryLog];

/// Whether an import replaces the rows.
fn is_deleted(table: Table) -> bool {
    let is_kept = matches!(table, Table::Failure | Table::RecordImport);
    let is_derived = LISTED.contains(&table);
    (table.is_record() && !is_kept) || is_derived
}

/// Rows that are deleted in one commit.
const DELETED_AT_ONCE: usize = 10_000;

#[derive(Clone)]
pub(crate) struct EmbeddedRawRecords {
    engine: Engine,
    verified: EmbeddedVerifiedContracts,
    webhooks: EmbeddedWebhookRecords,
    /// None: the current state.
    pinned: Option<Arc<View>>,
}

impl EmbeddedRawRecords {
    pub(crate) fn new(engine: Engine, verified: EmbeddedVerifiedContracts, webhooks: EmbeddedWebhookRecords) -> Self {
        Self { engine, verified, webhooks, pinned: None }
    }

    fn view(&self) -> Arc<View> {
        self.pinned.clone().unwrap_or_else(|| Arc::new(self.engine.view()))
    }

    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let this = self.clone();
        run_blocking(move || work(&this)).await
    }

    fn write(&self, records: &[Record]) -> Result<(), StoreError> {
        let listing = self.verified.listing();
        let _guard = listing.lock();
        let (view, mut batch) = (self.engine.view(), self.engine.batch());
        write_all(&view, &mut batch, records)?;
        batch.commit_durably()?;
        if records.iter().any(|record| matches!(record, Record::Matching(_))) {
            self.webhooks.reload()?;
        }
        Ok(())
    }

    fn delete(&self) -> Result<(), StoreError> {
        let listing = self.verified.listing();
        let _guard = listing.lock();
        delete_rows(&self.engine, Table::ALL.iter().copied().filter(|table| is_deleted(*table)))?;
        self.webhooks.reload()
    }
}

/// Deletes all rows of some tables.
pub(crate) fn delete_rows(engine: &Engine, tables: impl Iterator<Item = Table>) -> Result<(), StoreError> {
    for table in tables {
        loop {
            let (view, mut batch) = (engine.view(), engine.batch());
            let mut deleted = 0;
            for row in view.prefix(table, &Key::EMPTY).take(DELETED_AT_ONCE) {
                let key = Key::from_slice(&row?.0).ok_or(StoreError::Corrupt("a key that is too long"))?;
                batch.delete(table, &key);
                deleted += 1;
            }
            if deleted > 0 {
                batch.commit_durably()?;
            }
            if deleted < DELETED_AT_ONCE {
                break;
            }
        }
    }
    Ok(())
}

#[async_trait]
impl RawRecords for EmbeddedRawRecords {
    async fn find_import(&self) -> Result<Option<RecordImport>, StoreError> {
        self.work(|this| {
            let row = this.view().get(Table::RecordImport, &Key::EMPTY)?;
            row.map(|row| RecordImport::from_row(&row)).transpose()
        })
        .await
    }

    async fn save_import(&self, import: Option<RecordImport>) -> Result<(), StoreError> {
        self.work(move |this| {
            let mut batch = this.engine.batch();
            match import {
                Some(import) => batch.put(Table::RecordImport, &Key::EMPTY, import.to_row()?),
                None => batch.delete(Table::RecordImport, &Key::EMPTY),
            }
            batch.commit_durably()
        })
        .await
    }

    async fn has_records(&self) -> Result<bool, StoreError> {
        self.work(|this| {
            let view = this.view();
            for table in LEFT_BY_USERS {
                if view.prefix(table, &Key::EMPTY).next().transpose()?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
        .await
    }

    async fn count_records(&self) -> Result<u64, StoreError> {
        self.work(|this| {
            let view = this.view();
            let mut count = 0;
            for table in COUNTED {
                for row in view.prefix(table, &Key::EMPTY) {
                    row?;
                    count += 1;
                }
            }
            Ok(count)
        })
        .await
    }

    async fn read_records(
        &self,
        kind: RecordKind,
        after: Option<RecordPosition>,
        limit: usize,
        now: UnixMillis,
    ) -> Result<Vec<Record>, StoreError> {
        RecordPosition::check(after, kind)?;
        self.work(move |this| {
            let view = &this.view();
            match kind {
                RecordKind::ApiKey => keys::read_keys(view, after, limit),
                RecordKind::UsedProof => keys::read_proofs(view, after, limit),
                RecordKind::VerifiedCode => verified::read_codes(view, after, limit),
                RecordKind::VerifiedContract => verified::read_contracts(view, after, limit),
                RecordKind::Deployment => verified::read_deployments(view, after, limit),
                RecordKind::Job => verified::read_jobs(view, after, limit),
                RecordKind::Failure => read_failures(view, after, limit),
                RecordKind::Webhook => webhooks::read_webhooks(view, after, limit),
                RecordKind::DeliveryLog => webhooks::read_logs(view, after, limit),
                RecordKind::Event => webhooks::read_events(view, after, limit),
                RecordKind::Delivery => webhooks::read_deliveries(view, after, limit, now),
                RecordKind::MatchedBlock => webhooks::read_matched_blocks(view, after, limit),
                RecordKind::OrphanedBlock => webhooks::read_orphaned_blocks(view, after, limit),
                RecordKind::Matching if after.is_some() => Ok(Vec::new()),
                RecordKind::Matching => Ok(vec![webhooks::read_matching(view)?]),
            }
        })
        .await
    }

    fn pinned(&self) -> Option<Arc<dyn RawRecords>> {
        Some(Arc::new(Self { pinned: Some(self.view()), ..self.clone() }))
    }

    async fn write_records(&self, records: Vec<Record>) -> Result<(), StoreError> {
        self.work(move |this| this.write(&records)).await
    }

    async fn delete_records(&self) -> Result<(), StoreError> {
        self.work(Self::delete).await
    }
}

fn read_failures(view: &View, after: Option<RecordPosition>, limit: usize) -> Result<Vec<Record>, StoreError> {
    let from = match after {
        Some(RecordPosition::Failure(transaction)) => Key::hash(&transaction).then(&[0]),
        _ => Key::EMPTY,
    };
    let rows = view.range_from(Table::Failure, &from, &Key::EMPTY).take(limit);
    rows.map(|row| {
        let (key, row) = row?;
        let transaction = key.as_slice().try_into();
        let transaction = transaction.map_err(|_| StoreError::Corrupt("a failure without its transaction"))?;
        let (block, failure) = failure_from_row(&row)?;
        Ok(Record::Failure(FailureRecord { transaction, block, failure }))
    })
    .collect()
}

fn write_all(view: &View, batch: &mut Batch, records: &[Record]) -> Result<(), StoreError> {
    macro_rules! of_kind {
        ($kind:ident) => {
            records.iter().filter_map(|record| match record {
                Record::$kind(record) => Some(record),
                _ => None,
            })
        };
    }
    keys::write(view, batch, of_kind!(ApiKey))?;
    verified::write_contracts(view, batch, of_kind!(VerifiedContract))?;
    webhooks::write_deliveries(view, batch, of_kind!(Delivery))?;
    for record in records {
        match record {
            Record::ApiKey(_) | Record::VerifiedContract(_) | Record::Delivery(_) => {}
            Record::UsedProof(proof) => keys::write_proof(batch, proof),
            Record::VerifiedCode(record) => verified::write_code(batch, record),
            Record::Deployment(record) => verified::write_deployment(batch, record),
            Record::Job(record) => verified::write_job(batch, record),
            Record::Failure(FailureRecord { transaction, block, failure }) => {
                batch.put(Table::Failure, &Key::hash(transaction), failure_to_row(block, failure));
            }
            Record::Webhook(webhook) => webhooks::write_webhook(batch, webhook),
            Record::DeliveryLog(record) => webhooks::write_log(batch, record),
            Record::Event(event) => webhooks::write_event(batch, event),
            Record::MatchedBlock(matched) => webhooks::write_matched_block(batch, matched),
            Record::OrphanedBlock(block) => webhooks::write_orphaned_block(batch, block),
            Record::Matching(matching) => webhooks::write_matching(batch, matching),
        }
    }
    Ok(())
}
