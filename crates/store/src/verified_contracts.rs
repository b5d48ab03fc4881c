use std::time::Duration;

use async_trait::async_trait;
use domain::{Address, B256, Deployment, JobId, Page, PageRequest, VerificationJob, VerifiedContract, VerifiedSummary};

use crate::{StateVersion, StoreError};

/// How long a verification job is kept.
pub const JOB_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Jobs that are kept; beyond that, the oldest are deleted earlier.
pub const KEPT_JOBS: u64 = 100_000;

/// What a verification changed in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The first verification of this code.
    New,
    /// It proves more than the stored one, and replaces it.
    Upgraded,
    /// The stored one proves as much, and is kept.
    Unchanged,
}

/// Verified code, and the contracts that were verified.
///
/// A verification belongs to code, independent of branch and address: it is found by the code hash. Data of one
/// deployment is stored with the creation it was derived from, and returned only while the index contains that
/// creation. The list contains the contracts whose current code is verified.
///
/// Changes are atomic, and durable before the call returns.
#[async_trait]
pub trait VerifiedContracts: Send + Sync {
    /// The version that a query started now reads, as for [`ChainReader::state`](crate::ChainReader::state).
    fn state(&self) -> Option<StateVersion>;

    /// The sources of this code at an address: those that prove the most there, verified at this address or at another
    /// one with the same code.
    async fn find_verified(&self, address: Address, code_hash: B256) -> Result<Option<VerifiedContract>, StoreError>;

    /// Like [`Self::find_verified`], without sources.
    async fn find_verified_summary(
        &self,
        address: Address,
        code_hash: B256,
    ) -> Result<Option<VerifiedSummary>, StoreError>;

    /// Verified contracts whose verified code is their current code, as far as the index knows it, in the order in
    /// which they were first verified.
    async fn list_verified(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError>;

    /// The number of contracts ever verified, including those that no longer exist; it never decreases, and a removal increases
    /// it, too: while it is the same, so are all sources.
    async fn count_verifications(&self) -> Result<u64, StoreError>;

    /// Stores a verification of the code at its address. Sources that prove more of the runtime code replace the stored
    /// ones at every address. Sources that prove as much and also the constructor of this deployment, which the stored
    /// ones do not, are stored for this address only.
    async fn save_verified(&self, contract: VerifiedContract) -> Result<Kept, StoreError>;

    /// Stores what was derived about the deployment of verified code at an address.
    async fn save_deployment(
        &self,
        address: Address,
        code_hash: B256,
        deployment: Deployment,
    ) -> Result<(), StoreError>;

    /// Removes the sources of this code at every address. Returns how many verified contracts had it; they can be verified again.
    async fn remove_verified(&self, code_hash: B256) -> Result<u64, StoreError>;

    /// Stores a job, or replaces the one with its id. Deletes jobs that were submitted [`JOB_RETENTION`] before this one, and
    /// the oldest beyond [`KEPT_JOBS`].
    async fn save_job(&self, job: VerificationJob) -> Result<(), StoreError>;

    async fn find_job(&self, id: JobId) -> Result<Option<VerificationJob>, StoreError>;
}
