//! Which process matches blocks with webhooks: one at a time.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{service::supervisor::Supervisor, stores::SharedStore};

/// Pause between attempts to become the process that matches.
const RETRY: Duration = Duration::from_secs(1);

/// Whether this process is the one that matches blocks with webhooks.
#[derive(Clone)]
pub(in crate::service) struct Leadership(watch::Receiver<bool>);

impl Leadership {
    /// No other process can.
    pub(in crate::service) fn always() -> Self {
        Self(watch::channel(true).1)
    }

    /// Runs a task while this process is the leader, until cancelled.
    pub(in crate::service) async fn run<F: Future<Output = ()>>(
        mut self,
        cancel: CancellationToken,
        start: impl Fn(CancellationToken) -> F,
    ) {
        while !cancel.is_cancelled() {
            let begun = cancel.run_until_cancelled(self.0.wait_for(|leads| *leads)).await;
            // Without a sender, it stays as it is.
            if begun.is_none_or(|begun| begun.is_err()) {
                return cancel.cancelled().await;
            }
            let current = cancel.child_token();
            let running = start(current.clone());
            tokio::pin!(running);
            tokio::select! {
                () = &mut running => return,
                () = until_lost(&mut self.0) => {
                    current.cancel();
                    running.await;
                }
            }
        }
    }
}

/// Returns when this process is no longer the leader.
async fn until_lost(leads: &mut watch::Receiver<bool>) {
    if leads.wait_for(|leads| !*leads).await.is_err() {
        std::future::pending().await
    }
}

/// Keeps trying to become the leader, also after another process has become it.
pub(in crate::service) fn elect(store: &Arc<SharedStore>, supervisor: &Supervisor) -> Leadership {
    let (leads, receiver) = watch::channel(false);
    let store = Arc::clone(store);
    supervisor.spawn("webhook-leader", move |cancel| {
        let (store, leads) = (Arc::clone(&store), leads.clone());
        async move {
            cancel.run_until_cancelled(keep_leading(&store, &leads)).await;
        }
    });
    Leadership(receiver)
}

async fn keep_leading(store: &SharedStore, leads: &watch::Sender<bool>) {
    let mut is_standby = false;
    loop {
        match store.lock_matching().await {
            Ok(Some(mut lock)) => {
                tracing::info!("this process matches blocks with webhooks");
                leads.send_replace(true);
                lock.hold_until_lost().await;
                tracing::warn!("lost the database, matching of blocks with webhooks stops");
                leads.send_replace(false);
                is_standby = false;
            }
            Ok(None) if is_standby => {}
            Ok(None) => {
                tracing::info!("another process matches blocks with webhooks, standing by");
                is_standby = true;
            }
            Err(error) => tracing::warn!(%error, "waiting for the database to match blocks with webhooks"),
        }
        tokio::time::sleep(RETRY).await;
    }
}
