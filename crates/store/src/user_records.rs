use async_trait::async_trait;
use domain::{Address, ApiKey, ApiKeyId, KeyDigest, KeyUse, NewApiKey};

use crate::StoreError;

/// Maximum active keys per owner.
pub const ACTIVE_KEYS_PER_OWNER: usize = 5;
/// Maximum revoked keys in a listing: it contains the newest keys, and every active one. Revoked keys are never
/// deleted, so a listing without a bound would grow forever.
pub const LISTED_KEYS: usize = 100;

/// Records of users. They are independent of the chain: no reorg changes them.
///
/// Changes are atomic, also when they run concurrently, and durable before the call returns.
#[async_trait]
pub trait UserRecords: Send + Sync {
    /// Stores a new key with zero uses, and assigns its id.
    async fn add_key(&self, key: NewApiKey) -> Result<ApiKey, AddKeyError>;

    async fn find_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError>;

    /// The key with this digest, active or revoked. The comparison runs in constant time.
    async fn find_key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>, StoreError>;

    /// An owner's keys, newest first.
    async fn list_keys(&self, owner: Address) -> Result<Vec<ApiKey>, StoreError>;

    /// The newest keys of all owners, newest first, for the operator.
    async fn list_newest_keys(&self, limit: u32) -> Result<Vec<ApiKey>, StoreError>;

    /// Revokes a key permanently, and returns the revoked key; None if the key is unknown.
    async fn revoke_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError>;

    /// Changes the rate limit of a key, and returns the changed key; None if the key is unknown.
    async fn set_requests_per_minute(&self, id: ApiKeyId, limit: u32) -> Result<Option<ApiKey>, StoreError>;

    /// Adds requests to the totals of their keys. Unknown keys are ignored.
    async fn record_key_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError>;
}

/// Why a new key was rejected.
#[derive(Debug, thiserror::Error)]
pub enum AddKeyError {
    #[error("the owner has already used this proof")]
    ProofUsed,
    #[error("the owner already has {ACTIVE_KEYS_PER_OWNER} active keys")]
    QuotaReached,
    #[error(transparent)]
    Store(#[from] StoreError),
}
