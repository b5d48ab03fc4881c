//! A thousand receivers, half of them faulty: the others are not delayed, not even for the first block, when the health
//! of all endpoints is unknown.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, TxKind, U256};
use serde_json::json;

use super::{launch, send};
use crate::support::{
    DevNode, TestExplorer, eventually,
    fixture::lower_hex,
    permits,
    receiver::{Behavior, Receiver},
};

const CROWD: usize = 1_000;
/// docs/benchmarks.md uses more.
const BLOCKS: usize = 8;
const BLOCK_TIME: Duration = Duration::from_secs(1);
/// Blocks between two samples of the memory use.
const MEMORY_SAMPLE_BLOCKS: usize = 4;
/// Far more than the messages and connections of all receivers need.
const MEMORY_GROWTH_MEGABYTES: u64 = 256;

fn blocks() -> usize {
    std::env::var("EXPLORER_TEST_CROWD_BLOCKS").ok().and_then(|blocks| blocks.parse().ok()).unwrap_or(BLOCKS)
}

fn behavior_of(index: usize) -> Option<Behavior> {
    match index % 10 {
        0..3 => Some(Behavior::Hang),
        3 => Some(Behavior::Drip),
        4 => Some(Behavior::Status(500)),
        _ => None,
    }
}

/// Registers webhooks that all watch one address; returns the paths of the healthy ones.
async fn register_all(
    explorer: &TestExplorer,
    receiver: &Receiver,
    watched: Address,
    indexes: impl Iterator<Item = usize>,
) -> HashSet<String> {
    let client = explorer.client().with_keep_alive();
    let mut healthy = HashSet::new();
    for index in indexes {
        let path = format!("/{index}");
        let owner = format!("0x{:040x}", index / 20 + 1);
        let body = json!({ "ownerAddress": owner, "url": receiver.url(&path), "watchAddress": lower_hex(watched) });
        assert_eq!(send(&client, "POST", "/api/v1/webhooks", Some(body)).await.status, 201);
        match behavior_of(index) {
            Some(behavior) => receiver.set_behavior(&path, behavior),
            None => {
                healthy.insert(path);
            }
        }
    }
    healthy
}

/// Delays from the block to its event at each healthy receiver, ascending.
async fn delays_of(
    receiver: &Receiver,
    before: usize,
    block: u64,
    made: Instant,
    healthy: &HashSet<String>,
) -> Vec<Duration> {
    let mark = format!("\"blockNumber\":{block},");
    let mut delays = eventually("the healthy ones", async || {
        let delivered = receiver.after(before).into_iter();
        let delivered = delivered.filter(|message| message.body.contains(&mark) && healthy.contains(&message.path));
        let delays: Vec<Duration> = delivered.map(|message| message.at.saturating_duration_since(made)).collect();
        (delays.len() >= healthy.len()).then_some(delays)
    })
    .await;
    assert_eq!(delays.len(), healthy.len(), "each once");
    delays.sort_unstable();
    delays
}

fn percentile(delays: &[Duration], share: usize) -> Duration {
    delays[(delays.len() - 1) * share / 100]
}

/// The 99th percentile of the delays if all receivers are healthy, on this machine now.
async fn usual_p99() -> Duration {
    let node = DevNode::start().await;
    let explorer = launch(&node.ws_url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let (bob, healthy) = (node.account(1), (0..CROWD).filter(|index| behavior_of(*index).is_none()));
    let healthy = register_all(&explorer, &receiver, bob, healthy).await;
    let made = Instant::now();
    node.chain.send(0, TxKind::Call(bob), U256::from(1), []).unwrap();
    let block = node.chain.mine(None);
    percentile(&delays_of(&receiver, 0, block.number, made, &healthy).await, 99)
}

#[tokio::test(flavor = "multi_thread")]
async fn healthy_receivers_get_events_within_a_second_whatever_the_others_do() {
    permits::alone();
    let node = DevNode::start().await;
    let explorer = launch(&node.ws_url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let bob = node.account(1);
    let healthy = register_all(&explorer, &receiver, bob, 0..CROWD).await;
    assert_eq!(healthy.len(), CROWD / 2);
    let (mut first, mut later, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..blocks() {
        if number % MEMORY_SAMPLE_BLOCKS == 0 {
            memory.push(explorer.resident_megabytes());
        }
        let (before, made) = (receiver.count(), Instant::now());
        node.chain.send(0, TxKind::Call(bob), U256::from(number), []).unwrap();
        // Measured from before the commit, so the delays are upper bounds.
        let block = node.chain.mine(None);
        let delays = delays_of(&receiver, before, block.number, made, &healthy).await;
        if number == 0 {
            first = delays;
        } else {
            later.extend(delays);
        }
        tokio::time::sleep(BLOCK_TIME.saturating_sub(made.elapsed())).await;
    }
    later.sort_unstable();
    for (which, delays) in [("the first block", &first), ("later blocks", &later)] {
        let [median, p99, worst] = [50, 99, 100].map(|share| percentile(delays, share));
        println!(
            "{CROWD} receivers, {} healthy, {which}: median {median:?}, p99 {p99:?}, worst {worst:?}",
            healthy.len()
        );
        if p99 >= Duration::from_secs(1) {
            // On a busy machine it takes longer without faulty receivers too.
            let usual = usual_p99().await;
            assert!(p99 < Duration::from_secs(1) + 3 * usual, "{which}: p99 {p99:?}, and {usual:?} without the others");
        }
    }
    let contacted: HashSet<String> = receiver.all().into_iter().map(|message| message.path).collect();
    let faulty = (0..CROWD).filter(|index| behavior_of(*index).is_some());
    let reached = faulty.filter(|index| contacted.contains(&format!("/{index}"))).count();
    assert!(reached > CROWD / 10, "only {reached} of the faulty ones got a message");
    println!("resident megabytes, every {MEMORY_SAMPLE_BLOCKS} blocks: {memory:?}");
    let (before, most) = (memory[0], *memory.iter().max().unwrap());
    assert!(most < before + MEMORY_GROWTH_MEGABYTES, "{before} MB at first, {most} MB later");
}
