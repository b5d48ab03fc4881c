//! Command line options.

use std::{path::PathBuf, time::Duration};

use clap::Parser;

use crate::{chain::ChainPlan, replay::Conditions, soak::SoakPlan};

#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// Transactions of the indexed chain
    #[arg(long, default_value_t = 100_000)]
    transactions: u64,

    /// Average transactions per block
    #[arg(long, default_value_t = 100)]
    block_transactions: u64,

    /// Round trip of the remote node in milliseconds
    #[arg(long, default_value_t = 20)]
    round_trip: u64,

    /// Percentage of requests that fail at the remote node
    #[arg(long, default_value_t = 1.0)]
    errors: f64,

    /// Maximum batch size of the remote node
    #[arg(long)]
    largest_batch: Option<usize>,

    /// Maximum response size of the remote node in bytes
    #[arg(long)]
    largest_response: Option<usize>,

    /// Requests per second of a node with a rate limit
    #[arg(long, default_value_t = 20)]
    pub(crate) rate_limit: usize,

    /// Blocks of 200 transactions to mine at the head
    #[arg(long, default_value_t = 200)]
    pub(crate) head_blocks: usize,

    /// Seconds per load on the API
    #[arg(long, default_value_t = 5.0)]
    load: f64,

    /// Requests per page for latencies without load
    #[arg(long, default_value_t = 400)]
    pub(crate) requests: usize,

    /// Transfers in the store for the filter measurements
    #[arg(long, default_value_t = 1_200_000)]
    pub(crate) transfers: u64,

    /// Folder for the npm packages of compilers and contracts for verification; temporary by default
    #[arg(long)]
    pub(crate) packages: Option<PathBuf>,

    /// Minutes of the load over many connections
    #[arg(long, default_value_t = 60)]
    pub(crate) minutes: u64,

    /// Megabytes of memory for the explorer under that load, and in the soak; less than the default, so that caches are full after minutes
    #[arg(long, default_value_t = 192)]
    pub(crate) memory: u64,

    /// Blocks of the soak; by default as many as the demo mines in a day
    #[arg(long, default_value_t = 43_200)]
    soak_blocks: u64,

    /// Milliseconds between the blocks of the soak
    #[arg(long, default_value_t = 20)]
    soak_interval: u64,

    /// The other binary for `--only compare`
    #[arg(long)]
    pub(crate) other: Option<PathBuf>,

    /// Rounds of that comparison
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,

    /// Measure only this part
    #[arg(long)]
    only: Option<Part>,

    /// Run as the bare handler that serves the bytes of this file
    #[arg(long, hide = true)]
    pub(crate) serve_bare: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// Indexing: speed, growth, memory, disk, restart, a remote node
    Index,
    /// Cost of block checks
    Checks,
    /// The API without load, under load, and during a backfill
    Api,
    /// Latency from the node's response to visible in the API
    Head,
    /// Indexing from a node where a fifth of the requests fail, and from one with a rate limit
    Faults,
    /// Memory and latency under 2,000 connections for an hour; not measured by default
    Endurance,
    /// Memory of the demo and of `run` over a day of blocks, which are mined in minutes; not measured by default
    Soak,
    /// Cost of keys and rate limits per request
    Overhead,
    /// Webhook deliveries, compared with a loop that only posts
    Deliveries,
    /// Many webhooks on a busy address while their receiver is down
    Backlog,
    /// PostgreSQL beside the embedded store: indexing, size, pages, the head, two processes that serve; needs a server's
    /// programs, so it is not measured by default
    Postgres,
    /// Internal transactions: bytes, and the time until they are indexed
    Internal,
    /// Calls to the node, by method: at the head and without blocks
    Calls,
    /// What requests make the node and the processor do, beside what they count
    Costs,
    /// Verification, compared with the bare compiler
    Verification,
    /// Every combination of filters on long lists
    Filters,
    /// Latency and size of every kind of page
    Pages,
    /// This binary and another one in turns: index, head, API, pages; not measured by default
    Compare,
    /// No measurement: serve the chain until Ctrl-C, for profiling an explorer
    Serve,
}

impl Options {
    pub(crate) fn wants(&self, part: Part) -> bool {
        let rare = matches!(part, Part::Compare | Part::Serve | Part::Endurance | Part::Soak | Part::Postgres);
        self.only.map_or(!rare, |only| only == part)
    }

    pub(crate) fn chain(&self) -> ChainPlan {
        ChainPlan { transactions: self.transactions, per_block: self.block_transactions }
    }

    pub(crate) fn soak(&self) -> SoakPlan {
        SoakPlan { blocks: self.soak_blocks, interval: Duration::from_millis(self.soak_interval) }
    }

    pub(crate) fn load_seconds(&self) -> Duration {
        Duration::from_secs_f64(self.load)
    }

    pub(crate) fn remote_node(&self) -> Conditions {
        Conditions {
            round_trip: Duration::from_millis(self.round_trip),
            errors: self.errors / 100.0,
            spoiled: 0.0,
            largest_batch: self.largest_batch,
            largest_response: self.largest_response,
            per_second: None,
            traces: false,
            client_version: None,
        }
    }
}
