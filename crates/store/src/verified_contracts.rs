use async_trait::async_trait;
use domain::{Address, B256, Page, PageRequest, VerifiedContract, VerifiedSummary};

use crate::{StateVersion, StoreError};

/// What became of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The first of this code at this address.
    New,
    /// It proves more than what was there.
    Upgraded,
    /// What was there proves as much, and stays.
    Unchanged,
}

/// Contracts whose sources are known. No reorganisation touches them: a verification is of code, whichever branch it
/// stands on.
///
/// A change is durable before the call returns, and takes effect wholly or not at all.
#[async_trait]
pub trait VerifiedContracts: Send + Sync {
    /// The state that a question asked now would be answered from, as [`ChainReader::state`](crate::ChainReader::state)
    /// tells it.
    fn state(&self) -> Option<StateVersion>;

    async fn find_verified(&self, address: Address) -> Result<Option<VerifiedContract>, StoreError>;

    /// The same, without sources.
    async fn find_verified_summary(&self, address: Address) -> Result<Option<VerifiedSummary>, StoreError>;

    /// Where this very code was verified, and proved best.
    async fn find_verified_twin(&self, code_hash: B256) -> Result<Option<Address>, StoreError>;

    /// In the order in which addresses were first verified.
    async fn list_verified(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError>;

    /// Keeps a verification, unless one of the same code at the same address proves as much already.
    async fn keep_verified(&self, contract: VerifiedContract) -> Result<Kept, StoreError>;
}
