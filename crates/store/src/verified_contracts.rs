use async_trait::async_trait;
use domain::{Address, B256, Deployment, Page, PageRequest, VerifiedContract, VerifiedSummary};

use crate::{StateVersion, StoreError};

/// What became of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The first of this code.
    New,
    /// It proves more than what was there.
    Upgraded,
    /// What was there proves as much, and stays.
    Unchanged,
}

/// Code whose sources are known, and contracts that were verified.
///
/// A verification is of code, whichever branch and whatever address it stands on: it is found by the hash of the code. What
/// belongs to one deployment is kept with the creation that it was worked out for, and given only while the index names that
/// creation. The list holds the contracts whose verified code stands at their address now.
///
/// A change is durable before the call returns, and takes effect wholly or not at all.
#[async_trait]
pub trait VerifiedContracts: Send + Sync {
    /// The state that a question asked now would be answered from, as [`ChainReader::state`](crate::ChainReader::state)
    /// tells it.
    fn state(&self) -> Option<StateVersion>;

    /// The sources of the code with this hash at an address: those that prove most of it there, verified there or where the
    /// same code stands.
    async fn find_verified(&self, address: Address, code_hash: B256) -> Result<Option<VerifiedContract>, StoreError>;

    /// The same, without sources.
    async fn find_verified_summary(
        &self,
        address: Address,
        code_hash: B256,
    ) -> Result<Option<VerifiedSummary>, StoreError>;

    /// Contracts that were verified and whose verified code stands at their address, as far as the index knows the code
    /// there, in the order in which they were first verified.
    async fn list_verified(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError>;

    /// How many contracts were ever verified, whether or not they stand: grows with every new one.
    async fn count_verifications(&self) -> Result<u64, StoreError>;

    /// Keeps a verification of the code at its address. Sources that prove more of the running code replace those that are
    /// known of it everywhere; sources that prove as much, and the constructor of this deployment, which those that are known
    /// do not, are kept for this address alone.
    async fn keep_verified(&self, contract: VerifiedContract) -> Result<Kept, StoreError>;

    /// Keeps what was worked out about the deployment of verified code at an address.
    async fn keep_deployment(
        &self,
        address: Address,
        code_hash: B256,
        deployment: Deployment,
    ) -> Result<(), StoreError>;
}
