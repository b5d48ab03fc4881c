//! Cache of lookups by address.

use domain::Address;
use quick_cache::sync::Cache;

use crate::follow_error::FollowError;

/// Concurrent lookups of the same address share one request. Failures are not cached.
pub(crate) struct SingleFlight<Answer> {
    cache: Cache<Address, Answer>,
}

impl<Answer: Clone> SingleFlight<Answer> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { cache: Cache::new(capacity) }
    }

    pub(crate) async fn find<Lookup>(
        &self,
        address: Address,
        lookup: impl FnOnce() -> Lookup,
    ) -> Result<Answer, FollowError>
    where
        Lookup: Future<Output = Result<Answer, FollowError>>,
    {
        if let Some(known) = self.cache.get(&address) {
            return Ok(known);
        }
        // Boxed, since the future is large and rarely needed.
        Box::pin(self.cache.get_or_insert_async(&address, lookup())).await
    }
}
