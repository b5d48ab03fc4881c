use std::{fmt, sync::Arc};

use domain::{BlockNumber, SyncStatus};
use node::NodeClient;
use store::{ChainReader, KeptAccounts};
use tokio::sync::watch;

use crate::{Dexes, Labels, TokenPrefix, accounts::Accounts, answer::Freshness};

/// Blocks under the tip that a reorganisation may still take back: as many as a store can undo.
const UNSETTLED_BLOCKS: u64 = 256;

/// What the handlers work with.
pub struct ApiState {
    pub(crate) chain: Arc<dyn ChainReader>,
    pub(crate) accounts: Accounts,
    pub(crate) sync: watch::Receiver<SyncStatus>,
    pub(crate) labels: Labels,
    pub(crate) token_prefix: TokenPrefix,
    pub(crate) dexes: Dexes,
}

impl ApiState {
    #[must_use]
    pub fn new(
        chain: Arc<dyn ChainReader>,
        accounts: Arc<dyn KeptAccounts>,
        node: NodeClient,
        sync: watch::Receiver<SyncStatus>,
        labels: Labels,
    ) -> Self {
        Self {
            chain,
            accounts: Accounts::new(node, accounts),
            sync,
            labels,
            token_prefix: TokenPrefix::default(),
            dexes: Dexes::default(),
        }
    }

    /// Calls token standards as the chain's people do.
    #[must_use]
    pub fn with_token_prefix(self, token_prefix: TokenPrefix) -> Self {
        Self { token_prefix, ..self }
    }

    /// Calls exchanges by these names.
    #[must_use]
    pub fn with_dexes(self, dexes: Dexes) -> Self {
        Self { dexes, ..self }
    }

    /// How long an answer about one block stays true.
    pub(crate) fn freshness_of(&self, number: BlockNumber) -> Freshness {
        let tip = self.sync.borrow().tip;
        match tip {
            Some(tip) if tip.number.saturating_sub(number) >= UNSETTLED_BLOCKS => Freshness::Settled,
            _ => Freshness::UntilNextBlock,
        }
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState").field("sync", &*self.sync.borrow()).finish_non_exhaustive()
    }
}
