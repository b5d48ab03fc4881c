//! The handle on the webhooks of a database: its limits, its part in sending, and totals.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use domain::WebhookId;
use futures::future::BoxFuture;
use store::{StoreError, WebhookLimits, WebhookTotals};

use super::{
    change::{Change, ProgressRow},
    sender::Sender,
};
use crate::{
    database::{Database, Object, query},
    rows::{RowExt, int8},
};

/// The webhooks of a database.
#[derive(Debug, Clone)]
pub struct PostgresWebhookRecords {
    pub(super) database: Database,
    pub(super) limits: WebhookLimits,
    pub(super) totals: Arc<Mutex<Totals>>,
    /// If several processes send: which queues this one may claim from. Else it may claim from all.
    pub(super) sender: Option<Sender>,
}

/// As of the last change or query by this process.
#[derive(Debug)]
pub(super) struct Totals {
    pub(super) now: WebhookTotals,
    dropped_before: u64,
}

impl PostgresWebhookRecords {
    pub(crate) async fn open(database: Database) -> Result<Self, StoreError> {
        let progress = ProgressRow::read(&database.connection().await?).await?;
        let totals = Totals { now: WebhookTotals::default(), dropped_before: progress.dropped };
        let totals = Arc::new(Mutex::new(totals));
        let records = Self { database, limits: WebhookLimits::default(), totals, sender: None };
        records.note_totals(&progress);
        Ok(records)
    }

    /// The same records with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: WebhookLimits) -> Self {
        self.limits = limits;
        self
    }

    /// A sender, which shares the queues with those of other processes.
    #[must_use]
    pub fn new_sender(&self) -> Sender {
        Sender::new(self.database.clone())
    }

    /// The same records for a sender: only queues that belong to it are claimed from.
    #[must_use]
    pub fn with_sender(mut self, sender: Sender) -> Self {
        self.sender = Some(sender);
        self
    }

    /// Of the webhooks, those whose claims are this process's.
    pub(super) async fn owned(&self, change: &Change<'_>, webhooks: &[i64]) -> Result<BTreeSet<WebhookId>, StoreError> {
        match &self.sender {
            Some(sender) => Ok(sender.owned(change, webhooks).await?.into_iter().collect()),
            None => Ok(webhooks.iter().map(|webhook| webhook.cast_unsigned()).collect()),
        }
    }

    /// Releases queues that are assigned to other senders, after claims on them ended.
    pub(super) async fn hand_over(
        &self,
        change: &mut Change<'_>,
        webhooks: &BTreeSet<WebhookId>,
    ) -> Result<(), StoreError> {
        match &self.sender {
            Some(sender) => sender.hand_over(change, &webhooks.iter().copied().collect::<Vec<_>>()).await,
            None => Ok(()),
        }
    }

    /// The webhooks that were changed after a number, by any process, and the number of the last change.
    ///
    /// # Errors
    /// If the database fails.
    pub fn list_changes(&self, after: u64) -> BoxFuture<'_, Result<(Vec<WebhookId>, u64), StoreError>> {
        Box::pin(async move {
            let sql = "select webhook, number from webhook_change where number > $1 order by number";
            let rows = query(&self.connection().await?, sql, &[&int8(after)]).await?;
            let last = rows.last().map_or(Ok(after), |row| row.u64(1))?;
            Ok((rows.iter().map(|row| row.u64(0)).collect::<Result<_, _>>()?, last))
        })
    }

    pub(super) async fn connection(&self) -> Result<Object, StoreError> {
        self.database.connection().await
    }

    /// Reads the totals again: other processes change them, too.
    ///
    /// # Errors
    /// If the database fails.
    pub fn read_totals(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let progress = ProgressRow::read(&self.connection().await?).await?;
            self.note_totals(&progress);
            Ok(())
        })
    }

    pub(super) fn note_totals(&self, progress: &ProgressRow) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = progress.dropped.saturating_sub(totals.dropped_before);
        totals.now = WebhookTotals { webhooks: progress.webhooks, pending: progress.pending, dropped };
    }
}
