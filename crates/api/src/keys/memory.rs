//! User records in memory, for unit tests of the API. They pass the conformance suite of `store-conformance`.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::{Address, ApiKey, ApiKeyId, KeyDigest, KeyUse, NewApiKey};
use store::{ACTIVE_KEYS_PER_OWNER, AddKeyError, LISTED_KEYS, StoreError, UserRecords};
use tokio::sync::{RwLock, RwLockWriteGuard};

#[derive(Debug, Default)]
pub(crate) struct MemoryRecords(Mutex<(Vec<ApiKey>, Vec<UsedProof>)>, RwLock<()>);

/// The owner and the signed time.
type UsedProof = (Address, u64);

impl MemoryRecords {
    /// A key that is looked up is read, but not returned until this is dropped.
    pub(crate) async fn hold_reads(&self) -> RwLockWriteGuard<'_, ()> {
        self.1.write().await
    }

    fn change(&self, id: ApiKeyId, change: impl FnOnce(&mut ApiKey)) -> Option<ApiKey> {
        let mut records = self.0.lock().unwrap();
        let key = records.0.iter_mut().find(|key| key.id == id)?;
        change(key);
        Some(key.clone())
    }
}

#[async_trait]
impl UserRecords for MemoryRecords {
    async fn add_key(&self, new: NewApiKey) -> Result<ApiKey, AddKeyError> {
        let (keys, proofs) = &mut *self.0.lock().unwrap();
        if new.proof.is_some_and(|proof| proofs.contains(&(new.owner, proof))) {
            return Err(AddKeyError::ProofUsed);
        }
        if keys.iter().filter(|key| key.owner == new.owner && key.active).count() >= ACTIVE_KEYS_PER_OWNER {
            return Err(AddKeyError::QuotaReached);
        }
        proofs.extend(new.proof.map(|proof| (new.owner, proof)));
        let key = new.stored_as(keys.len() as u64 + 1);
        keys.push(key.clone());
        Ok(key)
    }

    async fn find_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        Ok(self.change(id, |_| {}))
    }

    async fn find_key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>, StoreError> {
        let found = self.0.lock().unwrap().0.iter().find(|key| key.digest == digest).cloned();
        drop(self.1.read().await);
        Ok(found)
    }

    async fn list_keys(&self, owner: Address) -> Result<Vec<ApiKey>, StoreError> {
        let records = self.0.lock().unwrap();
        let keys = records.0.iter().rev().filter(|key| key.owner == owner).enumerate();
        Ok(keys.filter(|(index, key)| *index < LISTED_KEYS || key.active).map(|(_, key)| key.clone()).collect())
    }

    async fn list_newest_keys(&self, limit: u32) -> Result<Vec<ApiKey>, StoreError> {
        Ok(self.0.lock().unwrap().0.iter().rev().take(limit as usize).cloned().collect())
    }

    async fn revoke_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        Ok(self.change(id, |key| key.active = false))
    }

    async fn set_requests_per_minute(&self, id: ApiKeyId, limit: u32) -> Result<Option<ApiKey>, StoreError> {
        Ok(self.change(id, |key| key.requests_per_minute = limit))
    }

    async fn record_key_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError> {
        for used in uses {
            self.change(used.id, |key| {
                key.total_requests += used.requests;
                key.last_used_at = key.last_used_at.max(used.last_used_at);
            });
        }
        Ok(())
    }
}

#[tokio::test]
async fn records_in_memory_pass_the_conformance_suite() {
    store_conformance::run_user_records(Arc::new(MemoryRecords::default())).await;
}
