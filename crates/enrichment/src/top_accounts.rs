//! The largest accounts by native balance.
//!
//! The index has no balances, so all addresses of the index are read from the node once, some at a time, and from then on those
//! that blocks touch. Nothing is stored: a restarted process begins again.

mod follow;
mod listing;
mod ranking;
mod touched;
mod unknown;

use std::{sync::Arc, time::Duration};

use domain::{SyncPhase, SyncStatus};
use futures::future::BoxFuture;
use node::NodeClient;
use store::ChainReader;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::follow::{Follower, Step};
pub use self::listing::{AccountListing, RankedAccount, UnknownAccounts};

/// Between calls of a pass over all addresses, so that it takes no more than ten calls per second.
const PASS_PAUSE: Duration = Duration::from_millis(100);
/// How often the index is asked for a new block.
const POLL: Duration = Duration::from_millis(500);
/// After a failure. Errors of the node are retried by its client before.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// Finds the largest accounts, and follows them.
pub struct TopAccounts {
    node: NodeClient,
    chain: Arc<dyn ChainReader>,
    listing: watch::Sender<Arc<AccountListing>>,
}

impl std::fmt::Debug for TopAccounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TopAccounts").finish_non_exhaustive()
    }
}

impl TopAccounts {
    #[must_use]
    pub fn new(node: NodeClient, chain: Arc<dyn ChainReader>) -> Self {
        Self { node, chain, listing: watch::Sender::new(Arc::default()) }
    }

    #[must_use]
    pub fn listing(&self) -> Arc<AccountListing> {
        Arc::clone(&self.listing.borrow())
    }

    /// Reads balances until cancelled; run it as a background task. While the node fails, the listing stays as it is, with its
    /// block.
    pub fn follow_until(
        self: Arc<Self>,
        sync: watch::Receiver<SyncStatus>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let follow = async {
                let mut followed = None;
                let mut follower = Follower::new(self.node.clone(), Arc::clone(&self.chain));
                loop {
                    let chain = sync.borrow().chain;
                    if followed.is_some() && followed != chain {
                        // Another chain is in the place of this one.
                        follower = Follower::new(self.node.clone(), Arc::clone(&self.chain));
                        self.listing.send_replace(Arc::default());
                    }
                    followed = chain;
                    if !may_read(&sync.borrow()) {
                        tokio::time::sleep(POLL).await;
                        continue;
                    }
                    let pause = match follower.step().await {
                        Ok(step) => {
                            if step != Step::Nothing {
                                self.listing.send_replace(Arc::new(follower.listing()));
                            }
                            if step == Step::Read { PASS_PAUSE } else { POLL }
                        }
                        Err(error) => {
                            let error: &dyn std::error::Error = &error;
                            tracing::warn!(error, "cannot read balances; the list of top accounts stays as it is");
                            FAILURE_PAUSE
                        }
                    };
                    tokio::time::sleep(pause).await;
                }
            };
            cancel.run_until_cancelled(follow).await;
        })
    }
}

/// A backfill needs the node for itself, and what is read during it would soon be outdated.
fn may_read(status: &SyncStatus) -> bool {
    status.phase == SyncPhase::Following && status.node_reachable
}
