//! Faults of nodes, disks, receivers and clients, and the recovery from them.

mod disk;
pub(crate) mod false_blocks;
mod hostile_clients;
mod lagging_node;
mod methods;
mod mixed;
mod rates;
mod silent_node;
mod webhooks;

use std::time::{Duration, Instant};

use devchain::{
    DevChain, DevChainConfig,
    traffic::{HistoryPlan, Traffic},
};

use crate::support::{FaultyNode, Launch, Stopwatch, TestExplorer, permits};

/// Empty blocks, more than the undo data covers.
fn chain_of(blocks: u64) -> DevChain {
    permits::enter();
    let chain = DevChain::new(DevChainConfig { history: 1_024, traces: false, ..DevChainConfig::default() });
    for _ in 0..blocks {
        chain.mine(None);
    }
    chain
}

/// A chain with all contracts and this many transactions, a few in each block.
async fn busy_chain(transactions: u64) -> DevChain {
    traded_chain(transactions, false).await
}

/// The same, on a node that traces or does not.
async fn traded_chain(transactions: u64, traces: bool) -> DevChain {
    permits::enter();
    if transactions >= permits::LONG_CHAIN {
        permits::busy().await;
    }
    let plan = HistoryPlan { transactions, end: 1_800_000_000, block_seconds: 3, days: 0 };
    let genesis_timestamp = plan.genesis_timestamp();
    let config = DevChainConfig { genesis_timestamp, accounts: 12, traces, ..DevChainConfig::default() };
    let made = tokio::task::spawn_blocking(move || {
        let chain = DevChain::new(config);
        let mut traffic = Traffic::new(chain.clone(), 11);
        traffic.deploy().unwrap();
        traffic.history(&plan).unwrap();
        chain
    });
    made.await.unwrap()
}

/// Indexes the whole chain of a node into a new folder; returns how long it took.
async fn index(node: &FaultyNode) -> (TestExplorer, Duration) {
    let watch = Stopwatch::start();
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    (explorer, watch.elapsed())
}

/// Polls the tip for this long; it must never fall below `at_least`.
async fn assert_tip_never_falls(explorer: &TestExplorer, at_least: u64, watch_for: Duration) {
    let started = Instant::now();
    while started.elapsed() < watch_for {
        let tip = explorer.json("/health").await["tip"]["number"].as_u64().unwrap();
        assert!(tip >= at_least, "the tip fell from {at_least} to {tip}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
