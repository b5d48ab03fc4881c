use std::{sync::Arc, time::Duration};

use crate::{address::Endpoint, genesis::Genesis, verify::BlockChecks};

/// Settings of the client.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// In order of preference. All must serve the same chain.
    pub endpoints: Vec<Endpoint>,
    /// From sending a request to the last byte of its response.
    pub request_timeout: Duration,
    /// Upper bound for concurrent requests per endpoint.
    pub max_concurrency: usize,
    /// Per endpoint; None: no limit but the one that an endpoint enforces.
    pub calls_per_second: Option<u32>,
    /// Longer responses are rejected.
    pub max_response_bytes: usize,
    pub retry: RetryPolicy,
    /// How often the head is polled if the node does not push new heads.
    pub poll: PollBounds,
    /// How long a failed endpoint is suspended before it is probed.
    pub probe_interval: Duration,
    /// How thoroughly blocks of the first endpoint are checked. Blocks of the others, which serve as fallbacks, are checked
    /// fully unless checks are off.
    pub verify_blocks: BlockChecks,
    /// What the first block grants; None if it is not known. It is checked against the block.
    pub genesis: Option<Arc<Genesis>>,
    /// Makes retry pauses reproducible for simulations. None: random.
    pub jitter_seed: Option<u64>,
}

impl NodeConfig {
    #[must_use]
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self {
            endpoints,
            request_timeout: Duration::from_secs(20),
            max_concurrency: 128,
            calls_per_second: None,
            max_response_bytes: 512 << 20,
            retry: RetryPolicy::default(),
            poll: PollBounds::default(),
            probe_interval: Duration::from_secs(5),
            verify_blocks: BlockChecks::default(),
            genesis: None,
            jitter_seed: None,
        }
    }
}

/// Retries and backoff of failed requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts, including the first.
    pub tries: u32,
    /// Upper bound of the first pause; it doubles with each attempt.
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// Upper bound for a node's `Retry-After`.
    pub longest_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            // Most failures are short, and blocks are committed in order, so every other block waits for one that pauses.
            tries: 8,
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(1),
            longest_retry_after: Duration::from_secs(30),
        }
    }
}

/// Bounds of the interval between two polls of the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PollBounds {
    pub shortest: Duration,
    pub longest: Duration,
}

impl Default for PollBounds {
    fn default() -> Self {
        Self { shortest: Duration::from_millis(100), longest: Duration::from_secs(4) }
    }
}
