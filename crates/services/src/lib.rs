//! The services behind the API, its dialects, the pages and the admin interface. Each is made once, so that they share its caches
//! and its limits.

use std::sync::Arc;

use contracts::{Delegations, Interfaces, InterfacesParts, calls::ContractCalls};
use domain::SyncStatus;
use enrichment::{
    Accounts, Allowances, DelegationStarts, Failures, Imitations, NftMetadataFetcher, OperatorNames, TopAccounts,
    TransactionDetails, TransactionTraces,
};
use node::NodeClient;
use store::{ChainReader, SharedJobs, Store, VerifiedContracts};
use tokio::sync::watch;
use verification::{VerificationJobs, VerifiedDeployments, Verifier, VerifierConfig, VerifierParts};

/// What services are made of.
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct ServicesParts<'a> {
    pub store: &'a dyn Store,
    /// For calls that a user waits for.
    pub node: NodeClient,
    pub sync: watch::Receiver<SyncStatus>,
    /// Of addresses and exchanges.
    pub operator_names: Arc<OperatorNames>,
    pub verifier: VerifierConfig,
    /// Set if other processes verify contracts, too.
    pub shared_jobs: Option<Arc<dyn SharedJobs>>,
    /// None if metadata of NFTs is not fetched.
    pub nft_metadata: Option<Arc<NftMetadataFetcher>>,
    /// None if top accounts are not listed.
    pub top_accounts: Option<Arc<TopAccounts>>,
}

/// Cheap to clone.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "traits without Debug")]
pub struct Services {
    pub chain: Arc<dyn ChainReader>,
    pub node: NodeClient,
    /// How far the index is.
    pub sync: watch::Receiver<SyncStatus>,
    pub operator_names: Arc<OperatorNames>,
    pub accounts: Arc<Accounts>,
    pub delegation_starts: Arc<DelegationStarts>,
    pub allowances: Arc<Allowances>,
    pub details: Arc<TransactionDetails>,
    pub failures: Arc<Failures>,
    pub traces: Arc<TransactionTraces>,
    /// None if metadata of NFTs is not fetched.
    pub nft_metadata: Option<Arc<NftMetadataFetcher>>,
    /// None if top accounts are not listed.
    pub top_accounts: Option<Arc<TopAccounts>>,
    /// Records of verified contracts.
    pub verified: Arc<dyn VerifiedContracts>,
    /// Verified contracts with the proof of their deployment.
    pub verified_deployments: Arc<VerifiedDeployments>,
    pub calls: Arc<ContractCalls>,
    /// Proxies and diamonds, cached by block.
    pub delegations: Arc<Delegations>,
    pub interfaces: Arc<Interfaces>,
    /// Which tokens imitate others.
    pub imitations: Arc<Imitations>,
    pub jobs: VerificationJobs,
}

impl Services {
    #[must_use]
    pub fn new(parts: ServicesParts<'_>) -> Self {
        let ServicesParts { store, node, sync, .. } = parts;
        let (chain, verified) = (store.reader(), store.verified_contracts());
        let verifier = Verifier::new(VerifierParts {
            node: node.clone(),
            chain: Arc::clone(&chain),
            records: Arc::clone(&verified),
            config: parts.verifier,
        });
        let calls = Arc::new(ContractCalls::new(node.clone(), Arc::clone(&verified)));
        let interfaces = Interfaces::new(InterfacesParts {
            node: node.clone(),
            chain: Arc::clone(&chain),
            verified: Arc::clone(&verified),
            calls: Arc::clone(&calls),
            sync: sync.clone(),
        });
        let accounts = Arc::new(Accounts::new(node.clone(), store.accounts(), sync.clone()));
        let delegations = Delegations::new(Arc::clone(&calls), Arc::clone(&verified), sync.clone());
        Self {
            imitations: Arc::new(Imitations::new(Arc::clone(&chain), Arc::clone(&parts.operator_names))),
            operator_names: parts.operator_names,
            delegation_starts: Arc::new(DelegationStarts::new(Arc::clone(&chain), Arc::clone(&accounts))),
            accounts,
            allowances: Arc::new(Allowances::new(node.clone())),
            details: Arc::new(TransactionDetails::new(node.clone())),
            failures: Arc::new(Failures::new(node.clone(), store.failures())),
            traces: Arc::new(TransactionTraces::new(node.clone())),
            nft_metadata: parts.nft_metadata,
            top_accounts: parts.top_accounts,
            verified_deployments: Arc::new(VerifiedDeployments::new(
                node.clone(),
                Arc::clone(&chain),
                Arc::clone(&verified),
            )),
            calls,
            delegations: Arc::new(delegations),
            interfaces: Arc::new(interfaces),
            jobs: VerificationJobs::new(verifier, Arc::clone(&verified), parts.shared_jobs),
            chain,
            node,
            sync,
            verified,
        }
    }
}
