//! The largest accounts by native balance.
//!
//! The index has no balances, so all addresses of the index are read from the node once, some at a time, and from then on those
//! that blocks touch. Nothing is stored: a restarted process begins again.

mod follow;
mod ranking;
mod touched;

use std::{sync::Arc, time::Duration};

use domain::{Address, BlockRef, Page, PageRequest, SyncPhase, SyncStatus, U256};
use futures::future::BoxFuture;
use node::NodeClient;
use store::ChainReader;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::follow::{Follower, Step};

/// Accounts that are shown. Each is read again with every update.
pub(crate) const LISTED: usize = 1_000;
/// Between calls of a pass over all addresses, so that it takes no more than ten calls per second.
const PASS_PAUSE: Duration = Duration::from_millis(100);
/// How often the index is asked for a new block.
const POLL: Duration = Duration::from_millis(500);
/// After a failure. Errors of the node are retried by its client before.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// The accounts with the largest balances.
#[derive(Debug, Clone, Default)]
pub struct AccountListing {
    /// The largest first.
    pub accounts: Vec<RankedAccount>,
    /// At which all of them have these balances; None before the first were read.
    pub block: Option<BlockRef>,
    /// Whether all addresses of the index were read: otherwise larger accounts may be missing.
    pub is_complete: bool,
    pub addresses_read: u64,
    /// How much of the pass over all addresses is done.
    pub percent: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankedAccount {
    /// From 1.
    pub rank: u64,
    pub address: Address,
    pub balance: U256,
}

impl AccountListing {
    /// The order of the request is ignored: the largest come first.
    #[must_use]
    pub fn page(&self, page: PageRequest) -> Page<RankedAccount> {
        let skipped = usize::try_from(page.offset).unwrap_or(usize::MAX);
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let items = self.accounts.iter().skip(skipped).take(limit).copied().collect();
        Page { items, total: self.accounts.len() as u64 }
    }
}

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
