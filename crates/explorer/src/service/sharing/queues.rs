//! The queues of webhooks, which all processes that send share.

use std::{sync::Arc, time::Duration};

use domain::WebhookId;
use tokio::sync::mpsc;
use webhooks::Wake;

use crate::{
    service::supervisor::Supervisor,
    stores::{QueueNews, Sender, SharedStore},
};

/// How often a process that sends webhooks reads which of them were changed elsewhere.
const CHANGES: Duration = Duration::from_millis(500);
/// Pause between attempts to reach the database.
const RETRY: Duration = Duration::from_secs(1);
/// Notifications that are forwarded at once.
const MAX_NEWS: usize = 1_000;

/// Shares the queues of webhooks with other processes that send. What others change or queue wakes the dispatcher.
pub(in crate::service) fn share(store: &Arc<SharedStore>, wake: Wake, supervisor: &Supervisor) -> Sender {
    let sender = store.webhook_records().new_sender();
    let (store, shared) = (Arc::clone(store), sender.clone());
    supervisor.spawn("webhook-queues", move |cancel| {
        let (store, wake, sender) = (Arc::clone(&store), wake.clone(), shared.clone());
        async move {
            let (queued, news) = mpsc::unbounded_channel();
            let sharing = async {
                tokio::join!(keep_claiming(&sender, &wake, &queued), forward_changes(&store, &wake, news));
            };
            cancel.run_until_cancelled(sharing).await;
        }
    });
    sender
}

/// Keeps a share of the queues for this process. Never returns.
async fn keep_claiming(sender: &Sender, wake: &Wake, queued: &mpsc::UnboundedSender<Vec<WebhookId>>) {
    loop {
        let news = |news| match news {
            QueueNews::Queued(webhooks) => drop(queued.send(webhooks)),
            QueueNews::Reassigned => wake.reassigned(),
            QueueNews::ClockAhead(ahead) => webhooks::correct_clock(ahead),
        };
        if let Err(error) = sender.run_until_disconnected(&news).await {
            tracing::warn!(%error, "waiting for the database to send webhooks");
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Forwards changes of webhooks and new messages to the dispatcher, in this order: what an owner changed before a message was
/// queued applies to it. Never returns.
async fn forward_changes(store: &SharedStore, wake: &Wake, mut queued: mpsc::UnboundedReceiver<Vec<WebhookId>>) {
    let (records, mut last) = (store.webhook_records(), None);
    let mut waiting = Vec::new();
    loop {
        match records.list_changes(last.unwrap_or_default()).await {
            Ok((changed, newest)) => {
                // At first, the dispatcher reads everything by itself.
                if last.is_some() {
                    changed.into_iter().for_each(|webhook| wake.changed(webhook));
                }
                last = Some(newest);
                wake.queued(waiting.drain(..).flatten());
            }
            Err(error) => {
                tracing::debug!(%error, "cannot read which webhooks were changed");
                tokio::time::sleep(CHANGES).await;
            }
        }
        let _ = tokio::time::timeout(CHANGES, queued.recv_many(&mut waiting, MAX_NEWS)).await;
    }
}
