use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use domain::{Address, ApiKey, ApiKeyId, KeyDigest, KeyUse, UnixMillis};
use quick_cache::sync::Cache;
use store::{StoreError, UserRecords};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use super::text::KeyText;

/// Keys remembered at once: a few megabytes.
const REMEMBERED: usize = 20_000;
/// After this the store is asked again: another process may have revoked a key.
const TRUSTED_FOR: Duration = Duration::from_secs(5);
/// How much of the counting a crash may lose.
const WRITTEN_DOWN_EVERY: Duration = Duration::from_millis(700);

/// The start of a digest, under which a key is remembered.
type Slot = [u8; 8];

/// The keys that are in use now, and how much.
pub(crate) struct KeyRing {
    records: Arc<dyn UserRecords>,
    known: Cache<Slot, Arc<KnownKey>>,
    /// Keys with uses that are not written down yet, each once.
    used: Mutex<Vec<Arc<KnownKey>>>,
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
        Self { records, known: Cache::new(REMEMBERED), used: Mutex::default() }
    }

    /// The key with this text, in use or revoked.
    pub(crate) async fn find(&self, text: &KeyText) -> Result<Option<Arc<KnownKey>>, StoreError> {
        let digest = text.digest();
        let slot = slot_of(&digest);
        if let Some(known) = self.known.get(&slot)
            && known.is(&digest)
            && known.read_at.elapsed() < TRUSTED_FOR
        {
            return Ok(Some(known));
        }
        let Some(key) = self.records.find_key_by_digest(digest).await? else { return Ok(None) };
        let known = Arc::new(KnownKey::new(&key));
        self.known.insert(slot, Arc::clone(&known));
        Ok(Some(known))
    }

    /// Has the store asked anew when the key is used next.
    pub(crate) fn forget(&self, digest: &KeyDigest) {
        self.known.remove(&slot_of(digest));
    }

    pub(crate) fn count_use(&self, key: &Arc<KnownKey>, now: UnixMillis) {
        key.last_used_at.fetch_max(now, Ordering::Relaxed);
        if key.uses.fetch_add(1, Ordering::AcqRel) == 0 {
            self.used.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(key));
        }
    }

    async fn write_down(&self) {
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
            tracing::warn!(error, "the use of keys is not written down yet");
            for (key, unwritten) in used.iter().zip(uses) {
                if key.uses.fetch_add(unwritten.requests, Ordering::AcqRel) == 0 {
                    self.used.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(key));
                }
            }
        }
    }
}

fn slot_of(digest: &KeyDigest) -> Slot {
    let [slot @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = *digest.as_bytes();
    slot
}

/// Writes down how keys are used, some moments behind their use.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "holds keys")]
pub struct KeyUses(pub(crate) Arc<KeyRing>);

impl KeyUses {
    pub async fn write_down_until(self, cancel: CancellationToken) {
        while cancel.run_until_cancelled(tokio::time::sleep(WRITTEN_DOWN_EVERY)).await.is_some() {
            self.0.write_down().await;
        }
    }

    /// Writes down what is left: the last thing to do once no more requests come.
    pub async fn finish(&self) {
        self.0.write_down().await;
    }
}
