use std::{sync::Arc, time::Duration};

use domain::{Account, Address, B256, BlockRef, SyncStatus};
use futures::future::BoxFuture;
use node::{NodeClient, NodeError};
use quick_cache::sync::Cache;
use store::{CachedAccounts, StoreError};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

/// A few megabytes. Accounts of older tips are evicted over time.
const CACHED_ACCOUNTS: usize = 10_000;
/// Short, since a user waits for the response and a stored account can be shown instead.
const NODE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// How long an account is cached on a chain for development, whose state also changes without a block (`anvil_setBalance`).
const DEV_CHAIN_CACHED_FOR: Duration = Duration::from_millis(400);
/// A node that has not responded for this long is not called: the follower detects when it is back.
const UNRESPONSIVE_AFTER: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("the node did not return the account, and no earlier response is stored")]
    Unavailable(#[source] AccountUnavailable),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why there is no account from the node.
#[derive(Debug, thiserror::Error)]
pub enum AccountUnavailable {
    #[error("the node failed")]
    Node(#[from] NodeError),
    #[error("the node took too long")]
    Timeout,
    #[error("the node was not called: the budget of node calls is spent")]
    BudgetSpent,
    #[error("the node was not called: it does not respond")]
    Unresponsive,
}

#[derive(Debug, Clone, Copy)]
pub struct SourcedAccount {
    pub account: Account,
    pub source: AccountSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountSource {
    /// From the node, at the requested tip.
    Node,
    /// From the store, at an earlier block, since the node is unavailable.
    Store,
}

/// Which accounts are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Always,
    /// Otherwise requests for random addresses would fill the disk.
    UnlessEmpty,
}

/// Whether a request may call the node; asked only if an account is not cached.
pub type MayCallNode<'a> = dyn Fn() -> bool + Send + Sync + 'a;

/// Balances, nonces and code of accounts. Fetched from the node, cached until the tip changes, and stored for times when the
/// node is unavailable.
pub struct Accounts {
    node: NodeClient,
    store: Arc<dyn CachedAccounts>,
    /// The key includes the tip, so that no entry has to be invalidated.
    cache: Cache<CacheKey, Account>,
    sync: watch::Receiver<SyncStatus>,
    started: Instant,
}

/// An address at a tip and, on a chain for development, in an interval of time.
type CacheKey = (Address, B256, Option<u128>);

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl Accounts {
    #[must_use]
    pub fn new(node: NodeClient, store: Arc<dyn CachedAccounts>, sync: watch::Receiver<SyncStatus>) -> Self {
        Self { node, store, cache: Cache::new(CACHED_ACCOUNTS), sync, started: Instant::now() }
    }

    fn key(&self, tip: BlockRef, address: Address) -> CacheKey {
        let interval = || self.started.elapsed().as_millis() / DEV_CHAIN_CACHED_FOR.as_millis();
        (address, tip.hash, self.sync.borrow().is_dev_chain.then(interval))
    }

    /// The account at the tip or, if the node is unavailable, the stored one.
    pub fn get(&self, tip: BlockRef, address: Address) -> BoxFuture<'_, Result<Account, AccountError>> {
        Box::pin(async move { Ok(self.get_with_source(tip, address).await?.account) })
    }

    /// Like `get`, but uses the stored account if `may_call_node` is false and the account is not cached.
    pub fn get_within_budget<'a>(
        &'a self,
        tip: BlockRef,
        address: Address,
        may_call_node: &'a MayCallNode<'_>,
    ) -> BoxFuture<'a, Result<Account, AccountError>> {
        Box::pin(async move { Ok(self.get_with_source_within_budget(tip, address, may_call_node).await?.account) })
    }

    /// Like [`Self::get_within_budget`], and says where the account is from.
    pub(crate) async fn get_with_source_within_budget(
        &self,
        tip: BlockRef,
        address: Address,
        may_call_node: &MayCallNode<'_>,
    ) -> Result<SourcedAccount, AccountError> {
        if self.cache.get(&self.key(tip, address)).is_some() || may_call_node() {
            return self.get_with_source(tip, address).await;
        }
        let stored = self.store.find_account(address).await?;
        let account = stored.ok_or(AccountError::Unavailable(AccountUnavailable::BudgetSpent))?;
        Ok(SourcedAccount { account, source: AccountSource::Store })
    }

    pub fn get_with_source(
        &self,
        tip: BlockRef,
        address: Address,
    ) -> BoxFuture<'_, Result<SourcedAccount, AccountError>> {
        Box::pin(async move {
            match self.get_or_fetch(tip, address, Keep::Always).await {
                Ok(account) => Ok(SourcedAccount { account, source: AccountSource::Node }),
                Err(cause) => match self.store.find_account(address).await? {
                    Some(account) => {
                        let error: &dyn std::error::Error = &cause;
                        tracing::debug!(error, %address, block = account.block, "using the stored account");
                        Ok(SourcedAccount { account, source: AccountSource::Store })
                    }
                    None => Err(AccountError::Unavailable(cause)),
                },
            }
        })
    }

    /// The account of an address that no indexed block contains; None if the chain has nothing about it. Uses the stored
    /// account if `may_call_node` is false and the account is not cached.
    pub fn find_unindexed<'a>(
        &'a self,
        tip: BlockRef,
        address: Address,
        may_call_node: &'a MayCallNode<'_>,
    ) -> BoxFuture<'a, Result<Option<Account>, AccountError>> {
        Box::pin(async move {
            let found = if self.cache.get(&self.key(tip, address)).is_some() || may_call_node() {
                self.get_or_fetch(tip, address, Keep::UnlessEmpty).await
            } else {
                Err(AccountUnavailable::BudgetSpent)
            };
            match found {
                Ok(account) => Ok(Some(account).filter(|account| !account.is_empty())),
                Err(cause) => match self.store.find_account(address).await? {
                    Some(account) => Ok(Some(account)),
                    None => Err(AccountError::Unavailable(cause)),
                },
            }
        })
    }

    /// The account at an indexed block; None if the node does not have its state, or is not called.
    pub(crate) async fn find_at(
        &self,
        block: BlockRef,
        address: Address,
        may_call_node: &MayCallNode<'_>,
    ) -> Option<Account> {
        let key = self.key(block, address);
        if let Some(account) = self.cache.get(&key) {
            return Some(account);
        }
        if !may_call_node() || self.node.silent_for().is_some_and(|waited| waited >= UNRESPONSIVE_AFTER) {
            return None;
        }
        let account = timeout(NODE_TIMEOUT, self.node.account(address, block)).await.ok()?.ok()?;
        // A node without the state answers with that of its head.
        let account = Some(account).filter(|account| account.block == block.number)?;
        self.cache.insert(key, account);
        Some(account)
    }

    /// Concurrent requests for the same account share one call to the node.
    async fn get_or_fetch(&self, tip: BlockRef, address: Address, keep: Keep) -> Result<Account, AccountUnavailable> {
        let key = self.key(tip, address);
        if let Some(account) = self.cache.get(&key) {
            return Ok(account);
        }
        if self.node.silent_for().is_some_and(|waited| waited >= UNRESPONSIVE_AFTER) {
            return Err(AccountUnavailable::Unresponsive);
        }
        let account = self.cache.get_or_insert_async(&key, self.fetch(tip, address, keep));
        timeout(NODE_TIMEOUT, account).await.unwrap_or(Err(AccountUnavailable::Timeout))
    }

    async fn fetch(&self, tip: BlockRef, address: Address, keep: Keep) -> Result<Account, AccountUnavailable> {
        let account = self.node.account(address, tip).await?;
        if keep == Keep::Always || !account.is_empty() {
            self.persist(address, account).await;
        }
        Ok(account)
    }

    /// A failure is only logged: the fetched account is still returned.
    async fn persist(&self, address: Address, account: Account) {
        let stored = match self.store.find_account(address).await {
            // A lagging node returns the account of an older block.
            Ok(Some(before)) if before == account || before.block > account.block => return,
            Ok(_) => self.store.save_account(address, account).await,
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, %address, "cannot store the account");
        }
    }
}
