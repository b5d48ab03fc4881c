use std::{fmt, sync::Arc};

use contracts::{KnownContracts, Verifier, VerifierConfig, VerifierParts, calls::ContractCalls};
use domain::{BlockNumber, SyncStatus, TaskStatus};
use node::NodeClient;
use store::{ChainReader, UserRecords, VerifiedContracts};
use tokio::sync::watch;
use webhooks::Registry;

use crate::{
    Dexes, Labels, LimitConfig, OwnerAccess, TokenPrefix, TrustedProxies,
    accounts::Accounts,
    answer::Freshness,
    kept_answers::{IndexState, KeptAnswers},
    keys::{KeyIssuer, KeyRing, KeyUses},
    layers::Admission,
    limits::RateLimits,
    streams::Streams,
};

/// What the API is built from.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct ApiParts {
    pub chain: Arc<dyn ChainReader>,
    pub accounts: Arc<Accounts>,
    pub records: Arc<dyn UserRecords>,
    pub verified: Arc<dyn VerifiedContracts>,
    /// How contracts are verified.
    pub verifier: VerifierConfig,
    pub webhooks: Registry,
    pub node: NodeClient,
    pub sync: watch::Receiver<SyncStatus>,
    /// The tasks that nobody waits for.
    pub tasks: watch::Receiver<Vec<TaskStatus>>,
    pub labels: Arc<Labels>,
    /// What token types are called.
    pub token_prefix: TokenPrefix,
    /// What exchanges are called.
    pub dexes: Arc<Dexes>,
    pub access: OwnerAccess,
    pub limits: LimitConfig,
    pub proxies: TrustedProxies,
    /// Bytes of answers to keep for those who ask the same.
    pub answer_bytes: u64,
}

/// What the handlers work with.
pub struct ApiState {
    pub(crate) chain: Arc<dyn ChainReader>,
    pub(crate) accounts: Arc<Accounts>,
    pub(crate) sync: watch::Receiver<SyncStatus>,
    pub(crate) tasks: watch::Receiver<Vec<TaskStatus>>,
    pub(crate) node: NodeClient,
    pub(crate) labels: Arc<Labels>,
    pub(crate) token_prefix: TokenPrefix,
    pub(crate) dexes: Arc<Dexes>,
    pub(crate) records: Arc<dyn UserRecords>,
    pub(crate) verified: Arc<dyn VerifiedContracts>,
    pub(crate) verifier: Verifier,
    pub(crate) known: KnownContracts,
    pub(crate) calls: ContractCalls,
    pub(crate) webhooks: Registry,
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) issuer: KeyIssuer,
    pub(crate) access: OwnerAccess,
    pub(crate) admission: Arc<Admission>,
    pub(crate) streams: Streams,
    answer_bytes: u64,
}

impl ApiState {
    #[must_use]
    pub fn new(parts: ApiParts) -> Self {
        let keys = Arc::new(KeyRing::new(Arc::clone(&parts.records)));
        let admission =
            Admission { keys: Arc::clone(&keys), limits: RateLimits::new(parts.limits), proxies: parts.proxies };
        let verifier = Verifier::new(VerifierParts {
            node: parts.node.clone(),
            chain: Arc::clone(&parts.chain),
            records: Arc::clone(&parts.verified),
            config: parts.verifier,
        });
        Self {
            known: KnownContracts::new(parts.node.clone(), Arc::clone(&parts.chain), Arc::clone(&parts.verified)),
            calls: ContractCalls::new(parts.node.clone(), Arc::clone(&parts.verified)),
            verifier,
            verified: parts.verified,
            chain: parts.chain,
            accounts: parts.accounts,
            sync: parts.sync,
            tasks: parts.tasks,
            node: parts.node.clone(),
            labels: parts.labels,
            token_prefix: parts.token_prefix,
            dexes: parts.dexes,
            issuer: KeyIssuer::new(Arc::clone(&parts.records), parts.node),
            records: parts.records,
            webhooks: parts.webhooks,
            keys,
            access: parts.access,
            admission: Arc::new(admission),
            streams: Streams::default(),
            answer_bytes: parts.answer_bytes,
        }
    }

    /// A place for answers that are told again while the index stands.
    pub(crate) fn kept_answers(&self) -> KeptAnswers {
        let state = IndexState::of(Arc::clone(&self.chain), Arc::clone(&self.verified), self.sync.clone());
        KeptAnswers::new(self.answer_bytes, state)
    }

    /// How keys are used, for someone to write it down.
    #[must_use]
    pub fn key_uses(&self) -> KeyUses {
        KeyUses(Arc::clone(&self.keys))
    }

    /// How long an answer about one block stays true.
    pub(crate) fn freshness_of(&self, number: BlockNumber) -> Freshness {
        match self.sync.borrow().settled {
            Some(settled) if number <= settled => Freshness::Settled,
            _ => Freshness::UntilNextBlock,
        }
    }
}

impl fmt::Debug for ApiState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiState").field("sync", &*self.sync.borrow()).finish_non_exhaustive()
    }
}
