//! How the rows of webhooks are read and changed: one change at a time.

use std::sync::{Arc, Mutex, PoisonError};

use domain::{Webhook, WebhookId};
use store::{StoreError, WebhookLimits, WebhookTotals};

use super::{change::Change, queues::Queues};
use crate::{
    blocking::run_blocking,
    engine::{Engine, View},
};

/// The webhooks of an embedded store. Clones share one lock; the chain's writer has no part in it.
#[derive(Debug, Clone)]
pub struct EmbeddedWebhookRecords {
    engine: Engine,
    /// Held by whoever changes something.
    queues: Arc<Mutex<Queues>>,
    /// As of the last change. Held for a moment only: whoever asks must not wait for the disk.
    totals: Arc<Mutex<WebhookTotals>>,
    limits: WebhookLimits,
}

/// What a change must outlast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlast {
    /// The end of the process.
    Process,
    /// A loss of power.
    Power,
}

impl EmbeddedWebhookRecords {
    pub(crate) fn new(engine: Engine) -> Result<Self, StoreError> {
        let queues = Queues::load(&engine.view())?;
        let totals = Arc::new(Mutex::new(queues.loads.totals()));
        Ok(Self { engine, queues: Arc::new(Mutex::new(queues)), totals, limits: WebhookLimits::default() })
    }

    /// The same, with other bounds.
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
        question: impl FnOnce(&View) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let engine = self.engine.clone();
        run_blocking(move || question(&engine.view())).await
    }

    /// Runs something alone that changes nothing on disk.
    pub(super) async fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&View, &mut Queues) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Self { engine, queues, .. } = self.clone();
        run_blocking(move || {
            let mut queues = queues.lock().unwrap_or_else(PoisonError::into_inner);
            // Opened under the lock: what somebody else has just written must show.
            work(&engine.view(), &mut queues)
        })
        .await
    }

    /// Runs one change alone. What is to be told of the state after it is read by `after`, before anybody else's turn.
    pub(super) async fn change<T, U, E>(
        &self,
        outlast: Outlast,
        change: impl FnOnce(&mut Change<'_>) -> Result<T, E> + Send + 'static,
        after: impl FnOnce(T, &View, &mut Queues) -> Result<U, StoreError> + Send + 'static,
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
            match outlast {
                Outlast::Process => batch.commit()?,
                Outlast::Power => batch.commit_durably()?,
            }
            // Not before: a commit that failed leaves the queues as they are on the disk.
            queues.apply(effects);
            *totals.lock().unwrap_or_else(PoisonError::into_inner) = queues.loads.totals();
            Ok(after(outcome, &engine.view(), &mut queues)?)
        })
        .await
    }

    pub(super) async fn change_one(
        &self,
        id: WebhookId,
        change: impl FnOnce(&mut Webhook) + Send + 'static,
    ) -> Result<Option<Webhook>, StoreError> {
        self.change(
            Outlast::Power,
            move |changing| {
                let Some(webhook) = changing.webhook(id)? else { return Ok(None) };
                change(webhook);
                let webhook = webhook.clone();
                changing.touch_watch_list()?;
                Ok(Some(webhook))
            },
            as_it_is,
        )
        .await
    }
}

pub(super) fn as_it_is<T>(outcome: T, _: &View, _: &mut Queues) -> Result<T, StoreError> {
    Ok(outcome)
}
