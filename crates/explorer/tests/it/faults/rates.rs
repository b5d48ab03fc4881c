//! Nodes that fail often or limit requests are synced at the rate that they allow.

use std::time::{Duration, Instant};

use devchain::DevChain;

use super::{busy_chain, chain_of, index};
use crate::support::{FaultyNode, Launch, Script, Stopwatch, eventually, permits};

#[tokio::test]
async fn sync_keeps_half_of_its_rate_when_a_fifth_of_the_requests_are_spoiled() {
    permits::alone();
    let chain = busy_chain(1_000).await;
    // So many that it is a rate: the first blocks wait for calls of new contracts, one after the other, whether requests are spoiled or not.
    for _ in 0..5_000 {
        chain.mine(None);
    }
    // Other work on the machine at times lowers the ratio: the best of three counts.
    let mut best = 0.0_f64;
    for _ in 0..3 {
        best = best.max(rate_with_faults(&chain).await);
        if best >= 0.5 {
            return;
        }
    }
    panic!("{best:.2} of the rate without faults");
}

/// The sync rate with a fifth of the requests spoiled in all ways, as a share of the rate without faults.
async fn rate_with_faults(chain: &DevChain) -> f64 {
    // The delay makes round trips dominate, not the speed of the machine.
    let delay = Duration::from_millis(400);
    let healthy = FaultyNode::start(chain, 1, Script { delay, ..Script::default() }).await;
    let fault_free = blocks_per_second(&healthy).await;

    let faulty = FaultyNode::start(chain, 2, Script { delay, mixed: 0.2, ..Script::default() }).await;
    let rate = blocks_per_second(&faulty).await;
    let request_counts = faulty.request_counts();
    let failed = request_counts.failed as f64 / (request_counts.failed + request_counts.served) as f64;
    assert!((0.15..0.25).contains(&failed), "{failed} of the requests failed");
    let ratio = rate / fault_free;
    println!("{fault_free:.0} blocks a second without faults, {rate:.0} with: {ratio:.2}");
    ratio
}

/// Sync rate from the first commit to the last, without the start of the process.
async fn blocks_per_second(node: &FaultyNode) -> f64 {
    let explorer = Launch::run(&node.url()).start().await;
    let committed = async || explorer.json("/health").await["tip"]["number"].as_u64().filter(|number| *number > 0);
    let first = eventually("the first commit", committed).await;
    let watch = Stopwatch::start();
    node.wait_for(&explorer).await;
    let blocks = node.chain.head().number - first;
    assert!(blocks > 500, "{blocks} blocks after the first commit are too few to tell a rate");
    blocks as f64 / watch.elapsed().as_secs_f64()
}

#[tokio::test]
async fn sync_uses_the_rate_limit_of_a_node_and_rarely_exceeds_it() {
    permits::alone();
    for retry_after in [None, Some(1)] {
        // A machine that pauses loses requests that the node would have served: the best of three counts.
        let mut failures = Vec::new();
        for _ in 0..3 {
            match sync_at_a_rate_limit(retry_after).await {
                Ok(()) => break,
                Err(failure) => failures.push(failure),
            }
        }
        assert!(failures.len() < 3, "Retry-After {retry_after:?}: {failures:#?}");
    }
}

async fn sync_at_a_rate_limit(retry_after: Option<u32>) -> Result<(), String> {
    let per_second = 20;
    let script = Script { requests_per_second: Some(per_second), retry_after, ..Script::default() };
    let node = FaultyNode::start(&chain_of(200), 3, script).await;
    let (_, took) = index(&node).await;
    let counts = node.request_counts();
    // Two requests for each block, and few others.
    assert!(counts.served < 460, "{counts:?}");
    let used = counts.served as f64 / (per_second as f64 * took.as_secs_f64());
    println!("{took:?}, {used:.2} of what is allowed, {} refused", counts.refused);
    if used >= 0.8 && counts.refused < counts.served / 4 {
        Ok(())
    } else {
        Err(format!("{took:?}: {used:.2} of what {per_second} requests a second allow: {counts:?}"))
    }
}

#[tokio::test]
async fn calls_of_the_node_stay_within_the_limit_of_the_operator() {
    const PER_SECOND: usize = 20;
    let chain = chain_of(100);
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let begun = Instant::now();
    let explorer = Launch::run(&node.url()).argument("--rpc-calls-per-second", PER_SECOND).start().await;
    node.wait_for(&explorer).await;
    let calls: usize = node.request_counts().methods.values().sum();
    let elapsed = begun.elapsed();
    assert!(calls > 100, "{calls} calls for 100 blocks");
    let allowed = PER_SECOND as f64 * elapsed.as_secs_f64() + 1.0;
    assert!(calls as f64 <= allowed, "{calls} calls in {elapsed:?}");
}
