//! Cache of whole responses, valid while the index does not change.
//!
//! A response is cached only if its handler marks it as [`Cacheable`], and served only while the index has the same
//! version as when the response was rendered. So entries need no invalidation: a new block, a revert, a new token name or
//! a newly verified contract changes the version, and entries of older versions no longer match.

mod min_block;
mod request;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use domain::{BlockRef, SyncStatus};
use enrichment::OperatorNames;
pub(crate) use min_block::{BLOCK, MinBlock};
use quick_cache::{Weighter, sync::Cache};
pub(crate) use request::{CacheKey, CachedRequest};
use store::{ChainReader, StateVersion, VerifiedContracts};
use tokio::sync::watch;

use crate::{ApiMetrics, error::ApiError};

/// Estimated size of an entry without its body and key: the headers and the slot in the cache.
const OVERHEAD_BYTES: u64 = 1024;
/// Size of a typical response: determines how many entries the cache is prepared for.
const TYPICAL_BYTES: u64 = 8 * 1024;

/// Response extension: the response depends on the index and the request alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cacheable;

/// Everything that a cacheable response depends on, except the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexVersion {
    chain: StateVersion,
    verified: StateVersion,
    /// Of the operator's names.
    names: u64,
    /// Determines `Cache-Control`. It is published a moment after the store's own tip changes.
    tip: Option<BlockRef>,
    /// On a chain for development, whose state also changes without a block: an interval of time.
    interval: Option<u128>,
}

/// How long a response is cached on such a chain.
const DEV_CHAIN_CACHED_FOR: Duration = Duration::from_millis(400);

/// The inner value is None if caching is disabled.
pub(crate) struct ResponseCache(Option<Enabled>);

struct Enabled {
    responses: Cache<CacheKey, Arc<CachedResponse>, SizeInBytes>,
    current_version: CurrentVersion,
    metrics: Arc<ApiMetrics>,
}

/// Returns the version of the index, or None while the index is being changed.
pub(crate) type CurrentVersion = Box<dyn Fn() -> Option<IndexVersion> + Send + Sync>;

impl IndexVersion {
    pub(crate) fn source(
        chain: Arc<dyn ChainReader>,
        verified: Arc<dyn VerifiedContracts>,
        names: Arc<OperatorNames>,
        sync: watch::Receiver<SyncStatus>,
    ) -> CurrentVersion {
        let started = Instant::now();
        Box::new(move || {
            let (chain, verified) = (chain.state()?, verified.state()?);
            let (tip, is_dev_chain) = {
                let sync = sync.borrow();
                (sync.tip, sync.is_dev_chain)
            };
            let interval = is_dev_chain.then(|| started.elapsed().as_millis() / DEV_CHAIN_CACHED_FOR.as_millis());
            Some(Self { chain, verified, names: names.version(), tip, interval })
        })
    }
}

struct CachedResponse {
    version: IndexVersion,
    headers: HeaderMap,
    body: Bytes,
}

impl CachedResponse {
    fn to_response(&self) -> Response {
        let mut response = Response::new(Body::from(self.body.clone()));
        *response.headers_mut() = self.headers.clone();
        response
    }
}

#[derive(Debug, Clone)]
struct SizeInBytes;

impl Weighter<CacheKey, Arc<CachedResponse>> for SizeInBytes {
    fn weight(&self, key: &CacheKey, response: &Arc<CachedResponse>) -> u64 {
        (key.len() + response.body.len()) as u64 + OVERHEAD_BYTES
    }
}

impl ResponseCache {
    /// Creates a cache of at most `bytes` bytes, keys included. 0 disables it.
    pub(crate) fn new(bytes: u64, current_version: CurrentVersion, metrics: Arc<ApiMetrics>) -> Self {
        let entries = usize::try_from(bytes / TYPICAL_BYTES).unwrap_or(usize::MAX);
        let responses = || Cache::with_weighter(entries.max(1), bytes, SizeInBytes);
        Self((bytes > 0).then(|| Enabled { responses: responses(), current_version, metrics }))
    }

    /// Responds from the cache, or renders the response and caches it if it is cacheable.
    pub(crate) async fn get_or_render(
        &self,
        request: CachedRequest,
        min_block: MinBlock,
        render: impl AsyncFnOnce(CachedRequest) -> Response,
    ) -> Response {
        let Some(Enabled { responses, current_version, metrics }) = &self.0 else { return render(request).await };
        let metrics = &metrics.response_cache;
        let (request, key) = match request.cache_key().await {
            Ok(read) => read,
            Err(error) => return error.into_response(),
        };
        // The version is read before rendering and compared afterwards.
        let (Some(key), Some(version)) = (key, current_version()) else { return render(request).await };
        if let Some(hit) = responses.get(&key).filter(|hit| hit.version == version && min_block.is_met_by(&hit.headers))
        {
            metrics.hits.increment();
            return hit.to_response();
        }
        let mut response = render(request).await;
        if response.status() != StatusCode::OK || response.extensions_mut().remove::<Cacheable>().is_none() {
            return response;
        }
        metrics.misses.increment();
        let (parts, body) = response.into_parts();
        let body = match to_bytes(body, usize::MAX).await {
            Ok(body) => body,
            Err(error) => return ApiError::Compression(error).into_response(),
        };
        let rendered = CachedResponse { version, headers: parts.headers, body };
        let response = rendered.to_response();
        if current_version() == Some(version) {
            responses.insert(key, Arc::new(rendered));
        }
        response
    }
}

impl fmt::Debug for ResponseCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
