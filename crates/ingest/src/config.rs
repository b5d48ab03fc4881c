use std::time::Duration;

use domain::BlockNumber;

/// Whether to trace blocks to find contracts created inside calls, and internal transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Traces {
    /// If the node supports it.
    #[default]
    Auto,
    /// Never: tracing is expensive, and limits the speed of a backfill.
    Off,
    /// Always: without a node that traces, nothing is indexed.
    Required,
}

/// Settings of the follower. The defaults suit every chain; tests shorten the waits.
#[derive(Debug, Clone, Copy)]
pub struct IngestConfig {
    /// The first block of the index.
    pub start_block: BlockNumber,
    /// Minimum number of blocks that can be reverted, whatever the node calls finalized.
    pub undo_depth: u64,
    /// Maximum number of blocks that can be reverted, for chains without finality.
    pub longest_undo_depth: u64,
    /// Maximum blocks in flight.
    pub window: usize,
    /// Approximate bytes of fetched blocks waiting for the writer.
    pub window_bytes: usize,
    /// A batch is committed when this many transactions wait ...
    pub batch_transactions: usize,
    /// ... or this many blocks ...
    pub batch_blocks: usize,
    /// ... or when the oldest has waited this long.
    pub batch_age: Duration,
    /// Whether a fork that is too deep to revert ends following with [`crate::IngestError::TooDeep`]. Otherwise it waits for the
    /// node to come back to the branch.
    pub starts_over: bool,
    /// How long a head below our tip, on our branch, must persist before blocks above it are reverted. On a dev chain, a moment
    /// is enough.
    pub lower_head_after: Duration,
    /// Longest interval between two checks of the head without a notification.
    pub idle_check: Duration,
    /// Pause after the node failed.
    pub retry_pause: Duration,
    /// Minimum interval between rounds of queries for contract data during a backfill: blocks come first.
    pub contract_data_interval: Duration,
    pub traces: Traces,
    /// How long a block waits at most for its trace, once that is requested, before it is committed without one.
    pub trace_timeout: Duration,
    /// First pause of tracing after a failure.
    pub trace_backoff: Duration,
}

impl IngestConfig {
    #[must_use]
    pub fn from_block(start_block: BlockNumber) -> Self {
        Self {
            start_block,
            undo_depth: 256,
            longest_undo_depth: 10_000,
            window: 1024,
            window_bytes: 128 << 20,
            batch_transactions: 50_000,
            batch_blocks: 10_000,
            batch_age: Duration::from_millis(500),
            starts_over: false,
            lower_head_after: Duration::from_secs(10 * 60),
            idle_check: Duration::from_secs(2),
            retry_pause: Duration::from_secs(1),
            contract_data_interval: Duration::from_secs(1),
            traces: Traces::Auto,
            trace_timeout: Duration::from_secs(10),
            trace_backoff: Duration::from_secs(1),
        }
    }
}
