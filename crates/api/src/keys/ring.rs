use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use admission::RateLimits;
use domain::{Address, ApiKey, ApiKeyId, KeyDigest, KeyUse, UnixMillis};
use futures::future::BoxFuture;
use quick_cache::sync::Cache;
use store::{StoreError, UserRecords};
use subtle::ConstantTimeEq;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use super::text::KeyText;

/// A few megabytes.
const CACHED_KEYS: usize = 20_000;
/// After this the key is read from the store again: another process may have revoked it.
const CACHED_FOR: Duration = Duration::from_secs(5);
/// A crash loses at most the counts of this interval.
const PERSIST_INTERVAL: Duration = Duration::from_millis(700);

/// The first bytes of a key's digest.
type CacheKey = [u8; 8];

/// Looks up API keys and counts their uses.
pub(crate) struct KeyRing {
    records: Arc<dyn UserRecords>,
    cache: Cache<CacheKey, Arc<KnownKey>>,
    /// How often a key was removed from the cache. Held while a key is cached, so that one that was read before it was
    /// revoked does not return to the cache.
    invalidations: Mutex<u64>,
    /// Keys with uses that are not persisted yet, each once.
    used: Mutex<Vec<Arc<KnownKey>>>,
    /// Held for writing while uses are persisted: then they are neither here nor certainly in the store.
    persisting: RwLock<()>,
}

pub(crate) struct KnownKey {
    pub(crate) id: ApiKeyId,
    pub(crate) owner: Address,
    pub(crate) requests_per_minute: u32,
    pub(crate) active: bool,
    digest: KeyDigest,
    read_at: Instant,
    uses: AtomicU64,
    last_used_at: AtomicU64,
}

impl KnownKey {
    fn new(key: &ApiKey) -> Self {
        Self {
            id: key.id,
            owner: key.owner,
            requests_per_minute: key.requests_per_minute,
            active: key.active,
            digest: key.digest,
            read_at: Instant::now(),
            uses: AtomicU64::new(0),
            last_used_at: AtomicU64::new(0),
        }
    }

    fn is(&self, digest: &KeyDigest) -> bool {
        self.digest.as_bytes().ct_eq(digest.as_bytes()).into()
    }
}

impl KeyRing {
    pub(crate) fn new(records: Arc<dyn UserRecords>) -> Self {
        Self {
            records,
            cache: Cache::new(CACHED_KEYS),
            invalidations: Mutex::default(),
            used: Mutex::default(),
            persisting: RwLock::default(),
        }
    }

    /// The key with this text, active or revoked.
    pub(crate) async fn find(&self, text: &KeyText) -> Result<Option<Arc<KnownKey>>, StoreError> {
        let digest = text.digest();
        let cache_key = cache_key(&digest);
        if let Some(known) = self.cache.get(&cache_key)
            && known.is(&digest)
            && known.read_at.elapsed() < CACHED_FOR
        {
            return Ok(Some(known));
        }
        let before = *self.lock_invalidations();
        let Some(key) = self.records.find_key_by_digest(digest).await? else { return Ok(None) };
        let known = Arc::new(KnownKey::new(&key));
        let invalidations = self.lock_invalidations();
        if *invalidations == before {
            self.cache.insert(cache_key, Arc::clone(&known));
        }
        Ok(Some(known))
    }

    /// An owner's keys, newest first, with the uses that this process has not persisted yet.
    pub(crate) async fn list(&self, owner: Address) -> Result<Vec<ApiKey>, StoreError> {
        let _persisted = self.persisting.read().await;
        let mut keys = self.records.list_keys(owner).await?;
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for known in used.iter().filter(|known| known.owner == owner) {
            if let Some(key) = keys.iter_mut().find(|key| key.id == known.id) {
                key.total_requests += known.uses.load(Ordering::Acquire);
                key.last_used_at = key.last_used_at.max(known.last_used_at.load(Ordering::Relaxed));
            }
        }
        drop(used);
        Ok(keys)
    }

    fn lock_invalidations(&self) -> MutexGuard<'_, u64> {
        self.invalidations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a key from the cache after it was changed.
    pub(crate) fn invalidate(&self, digest: &KeyDigest) {
        let mut invalidations = self.lock_invalidations();
        *invalidations += 1;
        self.cache.remove(&cache_key(digest));
    }

    pub(crate) fn count_use(&self, key: &Arc<KnownKey>, now: UnixMillis) {
        key.last_used_at.fetch_max(now, Ordering::Relaxed);
        if key.uses.fetch_add(1, Ordering::AcqRel) == 0 {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(key));
        }
    }

    async fn persist_uses(&self) {
        let _persisting = self.persisting.write().await;
        let used = std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner));
        if used.is_empty() {
            return;
        }
        let uses: Vec<KeyUse> = used
            .iter()
            .map(|key| KeyUse {
                id: key.id,
                requests: key.uses.swap(0, Ordering::AcqRel),
                last_used_at: key.last_used_at.load(Ordering::Relaxed),
            })
            .collect();
        if let Err(error) = self.records.record_key_uses(uses.clone()).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "cannot persist the use counts of keys, retrying");
            for (key, unsaved) in used.iter().zip(uses) {
                if key.uses.fetch_add(unsaved.requests, Ordering::AcqRel) == 0 {
                    self.used.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(key));
                }
            }
        }
    }
}

fn cache_key(digest: &KeyDigest) -> CacheKey {
    let [start @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *digest.as_bytes();
    start
}

/// Persists the use counts of keys in the background.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "holds keys")]
pub struct KeyUses {
    pub(crate) keys: Arc<KeyRing>,
    pub(crate) limits: Arc<RateLimits>,
}

impl KeyUses {
    pub fn persist_until(self, cancel: CancellationToken) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            while cancel.run_until_cancelled(tokio::time::sleep(PERSIST_INTERVAL)).await.is_some() {
                self.keys.persist_uses().await;
            }
        })
    }

    /// Has a key read from the store again, after the operator changed it.
    pub fn forget(&self, digest: &KeyDigest) {
        self.keys.invalidate(digest);
    }

    /// Persists the last counts, and lets other processes have what is left of the limits. Called after the last request.
    pub fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.keys.persist_uses().await;
            self.limits.finish().await;
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::NewApiKey;

    use super::*;
    use crate::keys::{issue_key, memory::MemoryRecords};

    #[tokio::test]
    async fn a_listing_has_every_use_once() {
        let owner = Address::repeat_byte(1);
        let records = Arc::new(MemoryRecords::default());
        let issued = issue_key(&*records, owner, String::new(), None, 5).await.unwrap();
        issue_key(&*records, owner, String::new(), None, 6).await.unwrap();
        let ring = KeyRing::new(records);
        let listed = async || {
            let keys = ring.list(owner).await.unwrap();
            keys.iter().rev().map(|key| (key.total_requests, key.last_used_at)).collect::<Vec<_>>()
        };
        for uses in 1..=6 {
            // A key that was read again is counted apart from the one that was read before.
            if uses == 3 {
                ring.invalidate(&issued.key.digest);
            }
            let known = ring.find(&issued.text).await.unwrap().unwrap();
            ring.count_use(&known, 10 + uses);
            assert_eq!(listed().await, [(uses, 10 + uses), (0, 6)]);
            if uses == 4 {
                ring.persist_uses().await;
                assert_eq!(listed().await, [(uses, 10 + uses), (0, 6)]);
            }
        }
    }

    #[tokio::test]
    async fn a_key_revoked_while_a_request_reads_it_is_not_cached_as_active() {
        let (records, text) = (Arc::new(MemoryRecords::default()), KeyText::generate());
        let ring = KeyRing::new(records.clone());
        let key = NewApiKey {
            digest: text.digest(),
            owner: Address::ZERO,
            prefix: text.prefix().to_owned(),
            label: String::new(),
            requests_per_minute: 100,
            created_at: 0,
            proof: None,
        };
        let id = records.add_key(key).await.unwrap().id;

        let reading = ring.find(&text);
        let gate = records.hold_reads().await;
        let revoking = async {
            // The other future has read the key by now, and waits.
            tokio::task::yield_now().await;
            records.revoke_key(id).await.unwrap();
            ring.invalidate(&text.digest());
            drop(gate);
        };
        let (read, ()) = tokio::join!(reading, revoking);
        assert!(read.unwrap().unwrap().active, "it was read before it was revoked");
        assert!(!ring.find(&text).await.unwrap().unwrap().active, "the next request reads it again");

        let cached = ring.find(&text).await.unwrap().unwrap();
        assert!(Arc::ptr_eq(&cached, &ring.find(&text).await.unwrap().unwrap()), "keys are still cached");
    }
}
