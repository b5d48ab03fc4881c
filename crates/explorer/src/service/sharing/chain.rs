//! The chain that another process indexes.

use domain::SyncStatus;
use node::NodeClient;
use tokio::sync::watch;

use crate::service::supervisor::Supervisor;

/// Uses only nodes that serve the chain that another process indexes, also after that one has started over with a new chain.
pub(in crate::service) fn expect_indexed(
    node: &NodeClient,
    sync: &watch::Receiver<SyncStatus>,
    supervisor: &Supervisor,
) {
    let (node, sync) = (node.clone(), sync.clone());
    supervisor.spawn("expected-chain", move |cancel| {
        let (node, sync) = (node.clone(), sync.clone());
        async move {
            cancel.run_until_cancelled(keep_expecting(&node, sync)).await;
        }
    });
}

/// Never returns.
async fn keep_expecting(node: &NodeClient, mut sync: watch::Receiver<SyncStatus>) {
    loop {
        let chain = sync.borrow_and_update().chain;
        if let Some(chain) = chain {
            node.expect_chain(chain);
        }
        if sync.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
