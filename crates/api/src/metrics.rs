use admission::LimitDecision;
use metrics::Counter;

/// What the API counts since the start.
#[derive(Debug, Default)]
pub struct ApiMetrics {
    pub response_cache: CacheMetrics,
    pub rate_limited: RateLimited,
}

/// Lookups of responses that can be cached.
#[derive(Debug, Default)]
pub struct CacheMetrics {
    pub hits: Counter,
    pub misses: Counter,
}

/// Requests that were rejected, by the limit that they exceeded.
#[derive(Debug, Default)]
pub struct RateLimited {
    /// Of a client without a key.
    pub anonymous: Counter,
    /// Of a key.
    pub key: Counter,
    /// Of a client over all its keys.
    pub ip: Counter,
}

impl RateLimited {
    pub(crate) fn count(&self, decision: &LimitDecision) {
        match decision.exceeded().next().map(|quota| quota.name) {
            Some("key") => self.key.increment(),
            Some("ip") => self.ip.increment(),
            _ => self.anonymous.increment(),
        }
    }
}
