use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
    num::NonZeroU32,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

const SHARDS: usize = 64;
/// Keys that have their own bucket in each shard: a few megabytes in total. All other keys of a shard share one.
const KEYS_PER_SHARD: usize = 2_048;

/// Refill rate and capacity of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketRate {
    pub(crate) per_minute: NonZeroU32,
    pub(crate) burst: NonZeroU32,
}

impl BucketRate {
    /// A rate per minute, with a burst of half of it.
    pub(crate) fn per_minute(per_minute: NonZeroU32) -> Self {
        Self { per_minute, burst: NonZeroU32::new(per_minute.get() / 2).unwrap_or(NonZeroU32::MIN) }
    }

    fn nanos_for_one(self) -> u64 {
        60_000_000_000 / u64::from(self.per_minute.get())
    }
}

/// A token bucket per key, in bounded memory. Stored as the time at which the bucket is full again (GCRA): one number per
/// key, and keys with a full bucket need not be stored.
pub(crate) struct Buckets<K> {
    rate: BucketRate,
    started: Instant,
    shards: Box<[Mutex<Shard<K>>]>,
    hasher: RandomState,
}

struct Shard<K> {
    full_at: HashMap<K, u64>,
    /// The bucket of all keys without their own.
    shared: u64,
}

impl<K: Hash + Eq + Copy> Buckets<K> {
    pub(crate) fn new(rate: BucketRate) -> Self {
        let shard = || Mutex::new(Shard { full_at: HashMap::new(), shared: 0 });
        Self {
            rate,
            started: Instant::now(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            hasher: RandomState::new(),
        }
    }

    /// Takes tokens from a key's bucket. If there are too few, takes nothing and returns how long to wait.
    pub(crate) fn take(&self, key: K, tokens: u32) -> Result<(), Duration> {
        let now = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.take_at(key, tokens, now)
    }

    fn take_at(&self, key: K, tokens: u32, now: u64) -> Result<(), Duration> {
        let hash = usize::try_from(self.hasher.hash_one(key) >> 32).unwrap_or(0);
        let mut shard = self.shard(hash);
        if !shard.full_at.contains_key(&key) && shard.full_at.len() >= KEYS_PER_SHARD {
            shard.full_at.retain(|_, full_at| *full_at > now);
        }
        let has_room = shard.full_at.len() < KEYS_PER_SHARD || shard.full_at.contains_key(&key);
        let shard = &mut *shard;
        let full_at = if has_room { shard.full_at.entry(key).or_insert(now) } else { &mut shard.shared };
        let one = self.rate.nanos_for_one();
        let new_full_at = (*full_at).max(now).saturating_add(one.saturating_mul(u64::from(tokens)));
        let limit = now.saturating_add(one.saturating_mul(u64::from(self.rate.burst.get().max(tokens))));
        if new_full_at > limit {
            return Err(Duration::from_nanos(new_full_at - limit));
        }
        *full_at = new_full_at;
        Ok(())
    }

    #[expect(clippy::indexing_slicing, reason = "the index is a remainder of the number of shards")]
    fn shard(&self, hash: usize) -> MutexGuard<'_, Shard<K>> {
        self.shards[hash % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> std::fmt::Debug for Buckets<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets").field("rate", &self.rate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn buckets(per_minute: u32, burst: u32) -> Buckets<u32> {
        let number = |number| NonZeroU32::new(number).unwrap();
        Buckets::new(BucketRate { per_minute: number(per_minute), burst: number(burst) })
    }

    #[test]
    fn a_burst_is_allowed_and_then_the_rate_applies() {
        let buckets = buckets(60, 5);
        for _ in 0..5 {
            assert_eq!(buckets.take_at(1, 1, 0), Ok(()));
        }
        assert_eq!(buckets.take_at(1, 1, 0), Err(Duration::from_secs(1)));
        assert_eq!(buckets.take_at(2, 1, 0), Ok(()), "another key has its own bucket");
        assert_eq!(buckets.take_at(1, 1, SECOND), Ok(()));
        assert_eq!(buckets.take_at(1, 1, SECOND), Err(Duration::from_secs(1)));
        for _ in 0..5 {
            assert_eq!(buckets.take_at(1, 1, 60 * SECOND), Ok(()));
        }
    }

    #[test]
    fn a_rejected_request_takes_no_tokens() {
        let buckets = buckets(60, 4);
        assert_eq!(buckets.take_at(1, 3, 0), Ok(()));
        assert_eq!(buckets.take_at(1, 3, 0), Err(Duration::from_secs(2)));
        assert_eq!(buckets.take_at(1, 1, 0), Ok(()));
    }

    #[test]
    fn a_request_larger_than_the_burst_is_allowed_if_the_bucket_is_full() {
        let buckets = buckets(60, 2);
        assert_eq!(buckets.take_at(1, 5, 0), Ok(()));
        assert!(buckets.take_at(1, 1, 0).is_err());
    }

    #[test]
    fn many_keys_do_not_grow_the_table_without_bound() {
        let buckets = buckets(60, 5);
        for key in 0..400_000 {
            let _ = buckets.take_at(key, 1, 0);
        }
        let stored: usize = (0..SHARDS).map(|index| buckets.shard(index).full_at.len()).sum();
        assert!(stored <= SHARDS * KEYS_PER_SHARD, "{stored}");
        assert_eq!(buckets.take_at(1_000_000, 1, 600 * SECOND), Ok(()), "keys with a full bucket are dropped");
    }
}
