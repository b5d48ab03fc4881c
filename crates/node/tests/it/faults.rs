//! A node that spoils many requests in a mix of ways, on a paused clock: what that costs, and how soon it is over.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::bytes::Bytes;
use domain::{Address, BlockRef};
use futures::future::{BoxFuture, join_all};
use node::{Exchange, NodeClient, NodeConfig, TransportError};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Chain, Reply};

const ROUND_TRIP: Duration = Duration::from_millis(50);
/// So many that the last one, which may be unlucky, does not decide about the rate.
const HEAD: u64 = 9_000;

#[derive(Debug)]
struct SpoilingNode {
    chain: Chain,
    /// The share of requests that are spoiled.
    share: Mutex<f64>,
    requests: AtomicU64,
}

impl SpoilingNode {
    fn new(share: f64) -> Arc<Self> {
        Arc::new(Self { chain: Chain::new(HEAD), share: Mutex::new(share), requests: AtomicU64::new(0) })
    }

    fn client(self: &Arc<Self>, calls_per_second: Option<u32>) -> NodeClient {
        let config = NodeConfig::new(vec!["http://node.example".parse().unwrap()]);
        let config = NodeConfig { jitter_seed: Some(7), calls_per_second, ..config };
        NodeClient::in_process(config, &[Arc::clone(self) as Arc<dyn Exchange>]).unwrap()
    }

    /// Pseudorandom, the same in every run: how a request is spoiled, and a share of the longest stall.
    fn draw(&self) -> Option<(u64, f64)> {
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        let mixed = request.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mixed = mixed ^ (mixed >> 32);
        let drawn = (mixed >> 32) as f64 / f64::from(u32::MAX);
        (drawn < *self.share.lock().unwrap()).then_some((mixed % 7, (mixed % 1_000) as f64 / 1_000.0))
    }

    fn answer(&self, call: &Value) -> Value {
        match self.chain.answer(call["method"].as_str().unwrap(), &call["params"]) {
            Reply::Result(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }),
            Reply::Error(code, message) => {
                json!({ "jsonrpc": "2.0", "id": call["id"], "error": { "code": code, "message": message } })
            }
            reply => panic!("{reply:?}"),
        }
    }
}

impl Exchange for SpoilingNode {
    fn exchange(&self, request: String) -> BoxFuture<'_, Result<Bytes, TransportError>> {
        Box::pin(async move {
            tokio::time::sleep(ROUND_TRIP).await;
            let fault = self.draw();
            let status = |status, retry_after| TransportError::Status { status, retry_after, body: Bytes::new() };
            match fault {
                Some((0, _)) => return Err(status(503, None)),
                Some((1, _)) => return Err(status(429, Some(Duration::from_secs(1)))),
                Some((2, _)) => return Err(TransportError::Dropped("connection reset".into())),
                Some((3, share)) => {
                    tokio::time::sleep(Duration::from_secs(3) + Duration::from_secs(12).mul_f64(share)).await
                }
                _ => {}
            }
            let mut request: Value = serde_json::from_str(&request).unwrap();
            if let (Some((4, _)), Some(number)) = (fault, request["params"][0].as_str())
                && request["method"] == "eth_getBlockByNumber"
                && let Ok(number) = u64::from_str_radix(number.trim_start_matches("0x"), 16)
            {
                request["params"][0] = json!(format!("{:#x}", number + 1));
            }
            let mut response = match &request {
                Value::Array(calls) => calls.iter().map(|call| self.answer(call)).collect(),
                call => self.answer(call),
            };
            if matches!(fault, Some((5, _))) && request["method"] == "eth_getBlockByNumber" {
                response["result"] = Value::Null;
            }
            let mut body = response.to_string().into_bytes();
            if matches!(fault, Some((6, _))) {
                body.truncate(body.len() / 2);
            }
            Ok(body.into())
        })
    }
}

/// Requests a block until the node has it, like indexing.
async fn fetch(client: &NodeClient, number: u64) {
    let mut found = client.find_block_ahead(number).await.unwrap();
    while found.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        found = client.find_block(number).await.unwrap();
    }
}

/// How long 95 of 100 blocks take: the rate. The last ones wait for requests that fail several times in a row, which indexing does
/// while it fetches others.
async fn time_of_blocks(share: f64) -> Duration {
    let client = SpoilingNode::new(share).client(None);
    let begun = Instant::now();
    let fetched = async |number| {
        fetch(&client, number).await;
        begun.elapsed()
    };
    let mut times = join_all((1..HEAD).map(fetched)).await;
    times.sort_unstable();
    times[times.len() * 95 / 100]
}

#[tokio::test(start_paused = true)]
async fn half_of_the_rate_remains_when_a_fifth_of_the_requests_is_spoiled() {
    let (fault_free, faulty) = (time_of_blocks(0.0).await, time_of_blocks(0.2).await);
    assert!(fault_free < Duration::from_secs(10), "{fault_free:?}");
    assert!(faulty <= fault_free * 2, "{fault_free:?} without faults, {faulty:?} with");
}

#[tokio::test(start_paused = true)]
async fn a_spoiled_response_delays_its_request_by_less_than_a_second() {
    let node = SpoilingNode::new(0.2);
    let client = node.client(None);
    fetch(&client, 1).await;
    let mut times = Vec::new();
    for number in 1..1_000 {
        let begun = Instant::now();
        fetch(&client, number).await;
        times.push(begun.elapsed());
    }
    times.sort();
    println!("median {:?}, 99 of 100 {:?}, longest {:?}", times[500], times[990], times[998]);
    assert!(times[500] <= ROUND_TRIP * 2, "{:?}", times[500]);
    assert!(times[990] <= Duration::from_secs(1), "{:?}", times[990]);
    assert!(times[998] <= Duration::from_secs(3), "{:?}", times[998]);
}

#[tokio::test(start_paused = true)]
async fn users_and_blocks_are_served_within_two_seconds_once_the_node_is_healthy() {
    for share in [0.2, 0.5] {
        let node = SpoilingNode::new(0.0);
        let client = node.client(None);
        let users = client.for_users();
        let at = BlockRef { number: HEAD, hash: Chain::new(HEAD).hash(HEAD) };
        fetch(&client, 1).await;
        *node.share.lock().unwrap() = share;
        let backfill = join_all((1..=500).map(|number| {
            let client = client.clone();
            tokio::spawn(async move { tokio::time::timeout(Duration::from_secs(30), client.find_block(number)).await })
        }));
        let lookups = async {
            for index in 0..20 {
                let account = users.account(Address::with_last_byte(index), at);
                let _ = tokio::time::timeout(Duration::from_millis(1_500), account).await;
            }
        };
        tokio::join!(backfill, lookups);

        *node.share.lock().unwrap() = 0.0;
        let healthy = Instant::now();
        fetch(&client, 2).await;
        assert!(healthy.elapsed() <= Duration::from_secs(2), "{share}: a block after {:?}", healthy.elapsed());
        let lookups = (0..100).map(async |index| {
            let account = users.account(Address::with_last_byte(index), at);
            let served = tokio::time::timeout(Duration::from_millis(1_500), account).await;
            served.unwrap_or_else(|_| panic!("{share}: {:?}", client.status())).unwrap()
        });
        join_all(lookups).await;
        assert!(healthy.elapsed() <= Duration::from_secs(2), "{share}: users after {:?}", healthy.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_does_not_wait_for_indexing_and_audits_at_a_low_rate() {
    let client = SpoilingNode::new(0.0).client(Some(10));
    fetch(&client, 1).await;
    let at = BlockRef { number: HEAD, hash: Chain::new(HEAD).hash(HEAD) };
    let blocks: Vec<_> = (1..=100)
        .map(|number| {
            tokio::spawn({
                let client = client.clone();
                async move { fetch(&client, number).await }
            })
        })
        .collect();
    let audits: Vec<_> = (0..100)
        .map(|index| {
            tokio::spawn({
                let client = client.for_background();
                async move { client.account(Address::with_last_byte(index), at).await.unwrap() }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    for _ in 0..5 {
        let begun = Instant::now();
        client.for_users().account(Address::ZERO, at).await.unwrap();
        // Three calls, after those that are being sent.
        assert!(begun.elapsed() <= Duration::from_millis(1_000), "{:?}", begun.elapsed());
    }
    assert!(blocks.iter().any(|task| !task.is_finished()) && audits.iter().any(|task| !task.is_finished()));
    for task in blocks {
        task.abort();
    }
}
