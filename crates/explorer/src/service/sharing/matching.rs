//! Which process matches blocks with webhooks: one at a time.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{service::supervisor::Supervisor, stores::SharedStore};

/// Pause between attempts to become the process that matches.
const RETRY: Duration = Duration::from_secs(1);

/// Whether it is this process that matches blocks with webhooks.
#[derive(Clone)]
pub(in crate::service) struct Turn(watch::Receiver<bool>);

impl Turn {
    /// No other process can.
    pub(in crate::service) fn always() -> Self {
        Self(watch::channel(true).1)
    }

    /// Runs a task whenever it is this process's turn, until cancelled.
    pub(in crate::service) async fn run<F: Future<Output = ()>>(
        mut self,
        cancel: CancellationToken,
        start: impl Fn(CancellationToken) -> F,
    ) {
        while !cancel.is_cancelled() {
            let begun = cancel.run_until_cancelled(self.0.wait_for(|is_ours| *is_ours)).await;
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

/// Returns when it is no longer this process's turn.
async fn until_lost(turn: &mut watch::Receiver<bool>) {
    if turn.wait_for(|is_ours| !*is_ours).await.is_err() {
        std::future::pending().await
    }
}

/// Waits for the right to match blocks with webhooks, and again whenever it is lost.
pub(in crate::service) fn take_turns(store: &Arc<SharedStore>, supervisor: &Supervisor) -> Turn {
    let (turn, receiver) = watch::channel(false);
    let store = Arc::clone(store);
    supervisor.spawn("webhook-turns", move |cancel| {
        let (store, turn) = (Arc::clone(&store), turn.clone());
        async move {
            cancel.run_until_cancelled(keep_turn(&store, &turn)).await;
        }
    });
    Turn(receiver)
}

async fn keep_turn(store: &SharedStore, turn: &watch::Sender<bool>) {
    let mut is_standby = false;
    loop {
        match store.lock_matching().await {
            Ok(Some(mut lock)) => {
                tracing::info!("this process matches blocks with webhooks");
                turn.send_replace(true);
                lock.hold_until_lost().await;
                tracing::warn!("lost the database, matching of blocks with webhooks stops");
                turn.send_replace(false);
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
