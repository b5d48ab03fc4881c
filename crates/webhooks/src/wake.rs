use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use domain::WebhookId;
use tokio::sync::Notify;

/// Tells the dispatcher that there is something to do. Clones share one bell.
#[derive(Debug, Clone, Default)]
pub struct Wake {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    news: Mutex<News>,
    bell: Notify,
}

/// What has happened since the dispatcher last looked.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Webhooks with something new to send.
    pub(crate) queued: BTreeSet<WebhookId>,
    /// Webhooks that were made, changed or deleted.
    pub(crate) changed: BTreeSet<WebhookId>,
}

impl Wake {
    pub(crate) fn queued(&self, webhooks: impl IntoIterator<Item = WebhookId>) {
        self.tell(|news| news.queued.extend(webhooks));
    }

    pub(crate) fn changed(&self, webhook: WebhookId) {
        self.tell(|news| {
            news.changed.insert(webhook);
        });
    }

    fn tell(&self, what: impl FnOnce(&mut News)) {
        what(&mut self.shared.news.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.bell.notify_one();
    }

    /// Waits until there is news.
    pub(crate) async fn rung(&self) {
        self.shared.bell.notified().await;
    }

    /// Keeps what could not be heeded for the next look. The bell is not rung: it would ring until it can be.
    pub(crate) fn put_back(&self, unheeded: News) {
        let mut news = self.shared.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.queued.extend(unheeded.queued);
        news.changed.extend(unheeded.changed);
    }

    pub(crate) fn take(&self) -> News {
        std::mem::take(&mut *self.shared.news.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn news_is_told_once_and_again_if_it_could_not_be_heeded() {
        let wake = Wake::default();
        wake.queued([1, 2]);
        wake.changed(3);
        wake.rung().await;
        let mut news = wake.take();
        assert!(wake.take().queued.is_empty());
        news.queued.remove(&1);
        wake.queued([4]);
        wake.put_back(news);
        let again = wake.take();
        assert_eq!((again.queued, again.changed), (BTreeSet::from([2, 4]), BTreeSet::from([3])));
    }
}
