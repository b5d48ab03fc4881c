use std::{sync::Arc, time::Duration};

use domain::{Account, Address, B256, BlockRef};
use node::{NodeClient, NodeError};
use quick_cache::sync::Cache;
use store::{KeptAccounts, StoreError};
use tokio::time::timeout;

/// Accounts remembered at once: a few megabytes. Those of past tips fall out by themselves.
const REMEMBERED: usize = 10_000;
/// A person waits for the answer, and an older one is at hand.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// A node that has been silent for so long is not waited for again: who follows the chain finds out when it is back.
const SILENT: Duration = Duration::from_secs(5);

/// Why nothing is known of an account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("the node did not tell of the account, and no earlier answer is kept")]
    Unknown(#[source] AccountUnknown),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why the node's word on an account is missing.
#[derive(Debug, thiserror::Error)]
pub enum AccountUnknown {
    #[error("the node failed")]
    Node(#[from] NodeError),
    #[error("the node took too long")]
    TooSlow,
    #[error("the node was not asked: the budget of node calls is spent")]
    NotAsked,
    #[error("the node is silent")]
    Silent,
}

/// What the node told of an account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) account: Account,
    pub(crate) when: ToldWhen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToldWhen {
    /// Of the very block that was asked for.
    OfTheTip,
    /// At some time before, since it does not answer now.
    Earlier,
}

/// Balances, nonces and code: asked of the node, remembered for as long as the tip stands, kept for when the node is
/// away.
pub struct Accounts {
    node: NodeClient,
    kept: Arc<dyn KeptAccounts>,
    /// Keyed by the tip too, so that nothing has to be cleared when a block comes or goes.
    remembered: Cache<(Address, B256), Account>,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts").finish_non_exhaustive()
    }
}

impl Accounts {
    #[must_use]
    pub fn new(node: NodeClient, kept: Arc<dyn KeptAccounts>) -> Self {
        Self { node, kept, remembered: Cache::new(REMEMBERED) }
    }

    /// The account at the tip; where the node does not tell, the last one it told.
    pub async fn at(&self, tip: BlockRef, address: Address) -> Result<Account, AccountError> {
        Ok(self.told_at(tip, address).await?.account)
    }

    /// The account at the tip, if it is at hand or the node may be asked; else the last one it told.
    pub async fn at_if(
        &self,
        tip: BlockRef,
        address: Address,
        may_ask: impl FnOnce() -> bool,
    ) -> Result<Account, AccountError> {
        if self.remembered.get(&(address, tip.hash)).is_some() || may_ask() {
            return self.at(tip, address).await;
        }
        self.kept.find_account(address).await?.ok_or(AccountError::Unknown(AccountUnknown::NotAsked))
    }

    /// The same, and when it was told.
    pub(crate) async fn told_at(&self, tip: BlockRef, address: Address) -> Result<Told, AccountError> {
        match self.ask_once(tip, address).await {
            Ok(account) => Ok(Told { account, when: ToldWhen::OfTheTip }),
            Err(cause) => match self.kept.find_account(address).await? {
                Some(account) => {
                    let error: &dyn std::error::Error = &cause;
                    tracing::debug!(error, %address, block = account.block, "answered with the account last kept");
                    Ok(Told { account, when: ToldWhen::Earlier })
                }
                None => Err(AccountError::Unknown(cause)),
            },
        }
    }

    /// Those who ask for the same account at once wait for one answer.
    async fn ask_once(&self, tip: BlockRef, address: Address) -> Result<Account, AccountUnknown> {
        let key = (address, tip.hash);
        if let Some(account) = self.remembered.get(&key) {
            return Ok(account);
        }
        if self.node.unanswered_for().is_some_and(|waited| waited >= SILENT) {
            return Err(AccountUnknown::Silent);
        }
        let answer = self.remembered.get_or_insert_async(&key, self.ask(tip, address));
        timeout(PATIENCE, answer).await.unwrap_or(Err(AccountUnknown::TooSlow))
    }

    async fn ask(&self, tip: BlockRef, address: Address) -> Result<Account, AccountUnknown> {
        let account = self.node.account(address, tip).await?;
        self.keep(address, account).await;
        Ok(account)
    }

    /// A failure to keep does not spoil the answer that is at hand.
    async fn keep(&self, address: Address, account: Account) {
        let kept = match self.kept.find_account(address).await {
            // A node that is behind tells of an older block.
            Ok(Some(before)) if before == account || before.block > account.block => return,
            Ok(_) => self.kept.keep_account(address, account).await,
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, %address, "account not kept");
        }
    }
}
