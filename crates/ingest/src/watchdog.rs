//! Detects a node that stopped answering, independently of the requests in flight.

use std::{convert::Infallible, time::Duration};

use domain::SyncStatus;
use node::NodeClient;
use tokio::sync::watch;
use tracing::{info, warn};

const INTERVAL: Duration = Duration::from_millis(500);
/// A node without a response for this long counts as unreachable.
const SILENCE_LIMIT: Duration = Duration::from_secs(6);

/// Keeps the status up to date while requests wait: a request may be retried for minutes before it fails.
pub(crate) async fn watch_silence(node: NodeClient, status: watch::Sender<SyncStatus>) -> Infallible {
    let mut was_silent = false;
    loop {
        tokio::time::sleep(INTERVAL).await;
        let is_silent = node.silent_for().is_some_and(|waited| waited >= SILENCE_LIMIT);
        if is_silent == was_silent {
            continue;
        }
        if is_silent {
            warn!(silent_for = ?SILENCE_LIMIT, "the node does not answer");
        } else {
            info!("the node answers again");
        }
        status.send_modify(|status| status.node_reachable = !is_silent);
        was_silent = is_silent;
    }
}
