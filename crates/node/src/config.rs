use std::time::Duration;

use crate::{BlockChecks, Endpoint};

/// How the client speaks with the node.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// In order of preference. All must serve the same chain.
    pub endpoints: Vec<Endpoint>,
    /// For one request, from the moment it is sent to the last byte of its answer.
    pub request_timeout: Duration,
    /// How many requests may be under way at one endpoint, however well it bears them.
    pub max_concurrency: usize,
    /// Bytes of one answer; a longer one is refused.
    pub max_answer_bytes: usize,
    pub retry: RetryPolicy,
    /// How often the head is asked for where the node does not announce it.
    pub poll: PollBounds,
    /// How long an endpoint that failed is left alone before it is tried again.
    pub probe_interval: Duration,
    /// How far blocks of the first endpoint are checked. Those of the others are checked to the full, unless checks are
    /// off: they are asked where the operator's first choice failed.
    pub verify_blocks: BlockChecks,
    /// Makes the pauses between tries the same in each run with the same seed, for simulations. None: other ones each time.
    pub jitter_seed: Option<u64>,
}

impl NodeConfig {
    #[must_use]
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self {
            endpoints,
            request_timeout: Duration::from_secs(20),
            max_concurrency: 128,
            max_answer_bytes: 512 << 20,
            retry: RetryPolicy::default(),
            poll: PollBounds::default(),
            probe_interval: Duration::from_secs(5),
            verify_blocks: BlockChecks::default(),
            jitter_seed: None,
        }
    }
}

/// How often, and after what pauses, a failed request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The first try included.
    pub tries: u32,
    /// The longest pause after the first try; it doubles from try to try.
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// What a node may ask for at most by `Retry-After`.
    pub longest_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            // Most failures are gone at once, and blocks are written in order: all others wait for one that pauses.
            tries: 8,
            first_pause: Duration::from_millis(50),
            longest_pause: Duration::from_secs(4),
            longest_retry_after: Duration::from_secs(30),
        }
    }
}

/// The shortest and the longest pause between two questions for the head.
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
