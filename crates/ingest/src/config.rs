use std::time::Duration;

use domain::BlockNumber;

/// Whether the node's traces are asked who made contracts inside calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Traces {
    /// Of a node that traces.
    #[default]
    Auto,
    /// Never: tracing is dear, and a long backfill goes no faster than the node traces.
    Off,
}

/// How the chain is followed. The defaults suit every chain; tests shorten the waits.
#[derive(Debug, Clone, Copy)]
pub struct IngestConfig {
    /// The first block of the index.
    pub start_block: BlockNumber,
    /// Blocks that can be taken back at least, whatever the node calls final.
    pub undo_depth: u64,
    /// Blocks that can be taken back at most, on chains that never call anything final.
    pub longest_undo_depth: u64,
    /// Blocks under way at once at most.
    pub window: usize,
    /// Bytes of fetched blocks that wait for the writer, about.
    pub window_bytes: usize,
    /// A commit is made when this many transactions wait ...
    pub batch_transactions: usize,
    /// ... or this many blocks ...
    pub batch_blocks: usize,
    /// ... or when the oldest has waited this long.
    pub batch_age: Duration,
    /// How long a head below ours, on our own branch, must stay there before our blocks above it are reverted. None: a
    /// few seconds on a dev chain, `lower_head_default` elsewhere.
    pub lower_head_after: Option<Duration>,
    pub lower_head_default: Duration,
    /// The longest pause between two looks at the head, should the node stay silent.
    pub idle_check: Duration,
    /// The pause after the node failed.
    pub trouble_pause: Duration,
    /// While far behind, tokens are asked for their names this often at most: blocks come first.
    pub settle_interval: Duration,
    pub traces: Traces,
    /// How long a block waits for its trace before it is committed without.
    pub trace_patience: Duration,
    /// How long the node's traces are left alone after they failed.
    pub trace_rest: Duration,
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
            lower_head_after: None,
            lower_head_default: Duration::from_secs(10 * 60),
            idle_check: Duration::from_secs(2),
            trouble_pause: Duration::from_secs(1),
            settle_interval: Duration::from_secs(1),
            traces: Traces::Auto,
            trace_patience: Duration::from_secs(10),
            trace_rest: Duration::from_secs(30),
        }
    }
}
