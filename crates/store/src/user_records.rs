use async_trait::async_trait;
use domain::{Address, ApiKey, ApiKeyId, KeyDigest, KeyUse, NewApiKey};

use crate::StoreError;

/// Keys that an owner may have in use at once.
pub const ACTIVE_KEYS_PER_OWNER: usize = 5;
/// Keys that a listing holds at most: the newest ones, and every active one. Revoked keys are kept for ever, and must
/// not make a listing grow for ever.
pub const LISTED_KEYS: usize = 100;

/// What users leave with the service. It has nothing to do with the chain: no reorganisation touches it.
///
/// A change is durable before the call returns, and takes effect wholly or not at all, however many are under way.
#[async_trait]
pub trait UserRecords: Send + Sync {
    /// Keeps a new key, with totals of nought, and gives it its number.
    async fn add_key(&self, key: NewApiKey) -> Result<ApiKey, AddKeyError>;

    async fn find_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError>;

    /// The key with this digest, in use or revoked. The comparison takes the same time wherever two digests differ.
    async fn find_key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>, StoreError>;

    /// An owner's keys, newest first.
    async fn list_keys(&self, owner: Address) -> Result<Vec<ApiKey>, StoreError>;

    /// The newest keys of all owners, newest first: for the operator.
    async fn list_newest_keys(&self, limit: u32) -> Result<Vec<ApiKey>, StoreError>;

    /// Takes a key out of use for good, and gives it as it then is; None where there is no such key.
    async fn revoke_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError>;

    /// Changes how often a key may be used, and gives it as it then is; None where there is no such key.
    async fn set_requests_per_minute(&self, id: ApiKeyId, limit: u32) -> Result<Option<ApiKey>, StoreError>;

    /// Adds requests to the totals of their keys. Those of unknown keys are passed over.
    async fn record_key_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError>;
}

/// Why a new key was not kept.
#[derive(Debug, thiserror::Error)]
pub enum AddKeyError {
    #[error("the owner has used this proof before")]
    ProofUsed,
    #[error("the owner has {ACTIVE_KEYS_PER_OWNER} active keys already")]
    QuotaReached,
    #[error(transparent)]
    Store(#[from] StoreError),
}
