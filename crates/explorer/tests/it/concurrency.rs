//! Every response reflects one state of the chain, even while blocks arrive quickly.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;

use crate::support::{DevNode, TestExplorer, expected_state, fixture::lower_hex, read_api};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn responses_are_consistent_while_blocks_arrive_quickly() {
    let (node, mut traffic) = DevNode::with_traffic(50).await;
    let explorer = TestExplorer::start(&node.ws_url()).await;
    node.wait_for(&explorer).await;

    let mining = Arc::new(AtomicBool::new(true));
    let (chain, still) = (node.chain.clone(), Arc::clone(&mining));
    let miner = tokio::task::spawn_blocking(move || {
        for _ in 0..250 {
            traffic.step().unwrap();
            chain.mine(None);
            std::thread::sleep(Duration::from_millis(8));
        }
        still.store(false, Ordering::Relaxed);
    });

    let client = explorer.client().with_keep_alive();
    let busy = lower_hex(node.account(1));
    let (mut rounds, mut last) = (0, Progress::default());
    while mining.load(Ordering::Relaxed) {
        last.advance(&client.json("/api/v1/stats").await);
        check_blocks(&client.json("/api/v1/blocks?limit=40").await);
        check_transactions(&client.json("/api/v1/transactions?limit=100").await);
        check_transactions(&client.json(&format!("/api/v1/transactions?limit=100&address={busy}")).await);
        check_address(&client.json(&format!("/api/v1/addresses/{busy}")).await);
        rounds += 1;
    }
    miner.await.unwrap();
    assert!(rounds > 20, "only {rounds} rounds");
    node.wait_for(&explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
}

#[derive(Debug, Default)]
struct Progress {
    block: u64,
    transactions: u64,
}

impl Progress {
    fn advance(&mut self, stats: &Value) {
        let block = stats["latestBlock"].as_u64().unwrap();
        let transactions = stats["totalTransactions"].as_u64().unwrap();
        assert!(block >= self.block && transactions >= self.transactions, "{stats} after {self:?}");
        assert!(block > self.block || transactions == self.transactions, "{stats} after {self:?}");
        *self = Self { block, transactions };
    }
}

fn check_blocks(page: &Value) {
    let blocks = page["blocks"].as_array().unwrap();
    let numbers: Vec<u64> = blocks.iter().map(|block| block["number"].as_u64().unwrap()).collect();
    assert_eq!(page["total"], numbers[0] + 1, "the newest block of the page is the newest of the total");
    assert!(numbers.windows(2).all(|pair| pair[0] == pair[1] + 1), "{numbers:?}");
    assert!(blocks.windows(2).all(|pair| pair[0]["parentHash"] == pair[1]["hash"]));
}

fn check_transactions(page: &Value) {
    let transactions = page["transactions"].as_array().unwrap();
    let places: Vec<_> = transactions.iter().map(|tx| (tx["blockNumber"].as_u64(), tx["index"].as_u64())).collect();
    assert!(places.windows(2).all(|pair| pair[0] > pair[1]), "{places:?}");
    let hashes: BTreeSet<_> = transactions.iter().map(|tx| tx["hash"].as_str()).collect();
    assert_eq!(hashes.len(), transactions.len(), "one transaction twice");
    let total = usize::try_from(page["total"].as_u64().unwrap()).unwrap();
    assert_eq!(transactions.len(), total.min(100));
}

fn check_address(detail: &Value) {
    let recent = detail["recentTxs"].as_array().unwrap();
    let count = usize::try_from(detail["txCount"].as_u64().unwrap()).unwrap();
    assert_eq!(recent.len(), count.min(25), "the count and the list are of one state");
    let newest = &recent[0];
    assert!(detail["lastSeen"].as_str() >= newest["timestamp"].as_str(), "last seen before its newest transaction");
}
