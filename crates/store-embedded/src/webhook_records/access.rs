//! Access to the rows of webhooks: reads run concurrently, changes one at a time.

use std::sync::{Arc, Mutex, PoisonError};

use domain::{Webhook, WebhookId};
use store::{StoreError, WebhookLimits, WebhookTotals};

use super::{change::Change, queues::Queues};
use crate::{
    blocking::run_blocking,
    engine::{Engine, View},
};

/// The webhooks of an embedded store. Clones share one lock, which the writer of the index never takes.
#[derive(Debug, Clone)]
pub struct EmbeddedWebhookRecords {
    engine: Engine,
    /// Locked during every change.
    queues: Arc<Mutex<Queues>>,
    /// As of the last change. Never locked during disk access, so that reading the totals does not wait for the disk.
    totals: Arc<Mutex<WebhookTotals>>,
    limits: WebhookLimits,
}

/// What a committed change survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Survives {
    /// A crash of the process.
    Crash,
    PowerLoss,
}

impl EmbeddedWebhookRecords {
    pub(crate) fn new(engine: Engine) -> Result<Self, StoreError> {
        let queues = Queues::load(&engine.view())?;
        let totals = Arc::new(Mutex::new(queues.loads.totals()));
        Ok(Self { engine, queues: Arc::new(Mutex::new(queues)), totals, limits: WebhookLimits::default() })
    }

    /// Reads the queues again, after all rows were replaced.
    pub(crate) fn reload(&self) -> Result<(), StoreError> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        *queues = Queues::load(&self.engine.view())?;
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner) = queues.loads.totals();
        Ok(())
    }

    /// The same records with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: WebhookLimits) -> Self {
        self.limits = limits;
        self
    }

    pub(super) fn limits(&self) -> WebhookLimits {
        self.limits
    }

    pub(super) fn last_totals(&self) -> WebhookTotals {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&View) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = self.engine.clone();
        run_blocking(move || query(&engine.view())).await
    }

    /// Runs `work` with exclusive access to the queues in memory. It writes nothing to disk.
    pub(super) async fn with_queues<T: Send + 'static>(
        &self,
        work: impl FnOnce(&View, &mut Queues) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Self { engine, queues, .. } = self.clone();
        run_blocking(move || {
            let mut queues = queues.lock().unwrap_or_else(PoisonError::into_inner);
            // The snapshot is taken under the lock, so that it contains the latest change.
            work(&engine.view(), &mut queues)
        })
        .await
    }

    /// Commits one change, exclusively.
    pub(super) async fn change<T, E>(
        &self,
        survives: Survives,
        change: impl FnOnce(&mut Change<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.change_and_read(survives, change, |outcome, _, _| Ok(outcome)).await
    }

    /// Commits one change, and then runs `read` on the result before any other change.
    pub(super) async fn change_and_read<T, U, E>(
        &self,
        survives: Survives,
        change: impl FnOnce(&mut Change<'_>) -> Result<T, E> + Send + 'static,
        read: impl FnOnce(T, &View, &mut Queues) -> Result<U, StoreError> + Send + 'static,
    ) -> Result<U, E>
    where
        U: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let Self { engine, queues, totals, limits } = self.clone();
        run_blocking(move || {
            let mut queues = queues.lock().unwrap_or_else(PoisonError::into_inner);
            let (view, mut batch) = (engine.view(), engine.batch());
            let mut changing = Change::new(&view, &mut batch, &queues, &limits);
            let outcome = change(&mut changing)?;
            let effects = changing.finish();
            match survives {
                Survives::Crash => batch.commit()?,
                Survives::PowerLoss => batch.commit_durably()?,
            }
            // Applied after the commit: if it fails, the queues still match the disk.
            queues.apply(effects);
            *totals.lock().unwrap_or_else(PoisonError::into_inner) = queues.loads.totals();
            Ok(read(outcome, &engine.view(), &mut queues)?)
        })
        .await
    }

    pub(super) async fn change_one(
        &self,
        id: WebhookId,
        change: impl FnOnce(&mut Webhook) + Send + 'static,
    ) -> Result<Option<Webhook>, StoreError> {
        self.change(Survives::PowerLoss, move |changing| {
            let Some(webhook) = changing.webhook(id)? else { return Ok(None) };
            change(webhook);
            let webhook = webhook.clone();
            changing.touch_watch_list()?;
            Ok(Some(webhook))
        })
        .await
    }
}
