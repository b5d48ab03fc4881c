//! What is measured, and how much of it.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::chain::ChainPlan;
use crate::replay::Conditions;

#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Transactions of the chain that is indexed
    #[arg(long, default_value_t = 100_000)]
    transactions: u64,

    /// Transactions in one of its blocks, on average
    #[arg(long, default_value_t = 100)]
    block_transactions: u64,

    /// Milliseconds that the far node takes for an answer
    #[arg(long, default_value_t = 20)]
    round_trip: u64,

    /// Percentage of requests at which the far node fails
    #[arg(long, default_value_t = 1.0)]
    errors: f64,

    /// Calls that the far node takes in a batch, at most
    #[arg(long)]
    largest_batch: Option<usize>,

    /// Bytes of an answer of the far node, at most
    #[arg(long)]
    largest_answer: Option<usize>,

    /// Requests a second that a node with a limit takes
    #[arg(long, default_value_t = 20)]
    pub(crate) rate_limit: usize,

    /// Blocks of 200 transactions that are made at the head
    #[arg(long, default_value_t = 200)]
    pub(crate) head_blocks: usize,

    /// Seconds for which the API is under each load
    #[arg(long, default_value_t = 5.0)]
    load: f64,

    /// Requests per page whose latency is measured without a load
    #[arg(long, default_value_t = 400)]
    pub(crate) requests: usize,

    /// Transfers of the store on which filters are measured
    #[arg(long, default_value_t = 1_200_000)]
    pub(crate) transfers: u64,

    /// Folder for the compilers and contracts out of npm that verification needs; by default a temporary one
    #[arg(long)]
    pub(crate) packages: Option<PathBuf>,

    /// Measure this part alone
    #[arg(long)]
    only: Option<Part>,

    /// Be the bare handler instead, and serve the bytes of this file
    #[arg(long, hide = true)]
    pub(crate) serve_bare: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Indexing a chain: speed, growth, memory, disk, restart, a far node
    Index,
    /// What checking blocks costs, beside fetching and indexing them
    Checks,
    /// The API alone, under load, and while a backfill runs
    Api,
    /// From the node's answer to visible in the API
    Head,
    /// Indexing from a node at which a fifth of the requests fail, and from one with a rate limit
    Faults,
    /// What keys and limits cost a request
    Overhead,
    /// Messages to webhooks, beside a loop that only posts
    Deliveries,
    /// Many webhooks on a busy address, whose receiver is down
    Backlog,
    /// Verification, beside the bare compiler
    Verification,
    /// Every combination of filters on crowded lists
    Filters,
    /// Time and size of every kind of page
    Pages,
    /// No measure: the chain is served until Ctrl-C, for an explorer under a profiler
    Serve,
}

impl Options {
    pub(crate) fn wants(&self, part: Part) -> bool {
        self.only.map_or(part != Part::Serve, |only| only == part)
    }

    pub(crate) fn chain(&self) -> ChainPlan {
        ChainPlan { transactions: self.transactions, per_block: self.block_transactions }
    }

    pub(crate) fn load_seconds(&self) -> Duration {
        Duration::from_secs_f64(self.load)
    }

    pub(crate) fn far_node(&self) -> Conditions {
        Conditions {
            round_trip: Duration::from_millis(self.round_trip),
            errors: self.errors / 100.0,
            largest_batch: self.largest_batch,
            largest_answer: self.largest_answer,
            per_second: None,
        }
    }
}
