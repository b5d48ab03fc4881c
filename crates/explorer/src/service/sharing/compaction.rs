//! Compaction of the lists in a database, and analysis of its tables.

use std::{sync::Arc, time::Duration};

use domain::{SyncPhase, SyncStatus};
use tokio::sync::watch;

use crate::{
    service::supervisor::Supervisor,
    stores::{Compacted, SharedStore},
};

/// How often rows of lists are merged, and between steps if there are more.
const COMPACTION: Duration = Duration::from_secs(30);
const COMPACTION_STEP: Duration = Duration::from_millis(500);

/// Merges rows of lists, and keeps the statistics of tables up to date, while this process writes the index and has caught up.
pub(in crate::service) fn start(store: &Arc<SharedStore>, sync: watch::Receiver<SyncStatus>, supervisor: &Supervisor) {
    let store = Arc::clone(store);
    supervisor.spawn("compaction", move |cancel| {
        let (store, sync) = (Arc::clone(&store), sync.clone());
        async move {
            cancel.run_until_cancelled(keep_compact(&store, &sync)).await;
        }
    });
}

async fn keep_compact(store: &SharedStore, sync: &watch::Receiver<SyncStatus>) {
    loop {
        let is_following = sync.borrow().phase == SyncPhase::Following;
        let mut pause = COMPACTION;
        if is_following && store.is_writer() {
            match store.compact(false).await {
                Ok(Compacted { runs_before, runs_after, has_more }) => {
                    if runs_before > 0 {
                        tracing::debug!(runs_before, runs_after, "merged rows of lists");
                    }
                    pause = if has_more { COMPACTION_STEP } else { COMPACTION };
                }
                Err(error) => tracing::warn!(%error, "cannot merge rows of lists; retrying"),
            }
            match store.analyze_grown().await {
                Ok(0) => {}
                Ok(tables) => tracing::info!(tables, "analyzed tables that have grown"),
                Err(error) => tracing::warn!(%error, "cannot analyze tables; retrying"),
            }
        }
        tokio::time::sleep(pause).await;
    }
}
