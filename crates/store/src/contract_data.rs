use async_trait::async_trait;
use domain::{Address, AuditResult, AuditSample, BalanceKey, BlockNumber, Bytes, PendingToken, TokenMetadata, U256};

use crate::StoreError;

/// Data that the index fetches from contracts after a commit (token metadata, balances that events do not give, code),
/// and the ranking of holders by their balances.
///
/// A commit or a revert makes data *pending*, by the rules of [`fetch_policy`](crate::fetch_policy). `list_pending_*`
/// returns pending data; the matching `keep_*` method stores what was fetched, and it is no longer pending unless a later
/// block made it pending again.
#[async_trait]
pub trait ContractDataWriter: Send + Sync {
    /// Tokens whose metadata has to be fetched: new tokens, tokens whose supply may have changed, and active tokens
    /// whose metadata is old. None of the three groups starves the others.
    async fn list_pending_tokens(&self, limit: usize) -> Result<Vec<PendingToken>, StoreError>;

    /// Stores token metadata.
    async fn save_token_metadata(&mut self, metadata: Vec<(Address, TokenMetadata)>) -> Result<(), StoreError>;

    /// Tokens whose derived balances are due for a comparison with the contract, each with a sample of holders (the
    /// most recently and the first touched by transfers) and their balances at the tip.
    async fn list_audits(&self, limit: usize) -> Result<Vec<AuditSample>, StoreError>;

    /// Stores the results of comparisons made at block `at`, the tip at that time. From then on, balances of a token
    /// whose events do not add up are read from its contract. A token that has moved since is still due.
    async fn save_audits(&mut self, verdicts: Vec<(Address, AuditResult)>, at: BlockNumber) -> Result<(), StoreError>;

    /// Balances to read from contracts, for tokens whose events do not give them.
    async fn list_pending_balances(&mut self, limit: usize) -> Result<Vec<BalanceKey>, StoreError>;

    /// Stores balances that contracts returned at block `at`.
    async fn save_balances(&mut self, balances: Vec<(BalanceKey, U256)>, at: BlockNumber) -> Result<(), StoreError>;

    /// Addresses that were seen to have code, or whose code may have changed, and whose code has not been fetched.
    async fn list_pending_codes(&self, limit: usize) -> Result<Vec<Address>, StoreError>;

    /// Stores the code of addresses at block `at`; empty code and delegations are not stored. Identical code is stored
    /// once.
    async fn save_codes(&mut self, codes: Vec<(Address, Bytes)>, at: BlockNumber) -> Result<(), StoreError>;

    /// Updates the ranking of up to `limit` holders to their current balances, and returns how many it processed. When
    /// it returns 0, every list of holders is that of the tip.
    async fn rank_holders(&mut self, limit: usize) -> Result<usize, StoreError>;
}
