use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use domain::WebhookId;
use tokio::sync::Notify;

/// Wakes the dispatcher when there is work. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Wake {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    changes: Mutex<Changes>,
    notify: Notify,
}

/// Changes since the dispatcher last took them.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Webhooks with new messages.
    pub(crate) queued: BTreeSet<WebhookId>,
    /// Webhooks that were created, updated or deleted.
    pub(crate) changed: BTreeSet<WebhookId>,
    /// Whether any queue may be this process's, or no longer.
    pub(crate) reassigned: bool,
}

impl Wake {
    /// Announces new messages of webhooks.
    pub fn queued(&self, webhooks: impl IntoIterator<Item = WebhookId>) {
        self.update(|changes| changes.queued.extend(webhooks));
    }

    /// Announces that other processes send other queues than before.
    pub fn reassigned(&self) {
        self.update(|changes| changes.reassigned = true);
    }

    /// Announces that a webhook was created, changed or deleted, or that a message was queued for it.
    pub fn changed(&self, webhook: WebhookId) {
        self.update(|changes| {
            changes.changed.insert(webhook);
        });
    }

    fn update(&self, change: impl FnOnce(&mut Changes)) {
        change(&mut self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.notify.notify_one();
    }

    /// Whether a webhook was changed since the dispatcher last took the changes; taken with this call.
    pub(crate) fn take_changed(&self, webhook: WebhookId) -> bool {
        self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner).changed.remove(&webhook)
    }

    /// Waits for the next change.
    pub(crate) async fn notified(&self) {
        self.shared.notify.notified().await;
    }

    /// Puts unprocessed changes back. Does not notify: the dispatcher would busy-loop while the store fails.
    pub(crate) fn restore(&self, unprocessed: Changes) {
        let mut changes = self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.queued.extend(unprocessed.queued);
        changes.changed.extend(unprocessed.changed);
        changes.reassigned |= unprocessed.reassigned;
    }

    pub(crate) fn take(&self) -> Changes {
        std::mem::take(&mut *self.shared.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn changes_are_taken_once_and_can_be_restored() {
        let wake = Wake::default();
        wake.queued([1, 2]);
        wake.changed(3);
        wake.notified().await;
        let mut changes = wake.take();
        assert!(wake.take().queued.is_empty());
        changes.queued.remove(&1);
        wake.queued([4]);
        wake.restore(changes);
        let again = wake.take();
        assert_eq!((again.queued, again.changed), (BTreeSet::from([2, 4]), BTreeSet::from([3])));
    }
}
