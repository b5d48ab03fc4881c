//! Clients without a key that try to slow down all others, from one address and from fifty: none costs more than it counts,
//! and honest clients beside them notice little.

mod crowd;
mod documents;
mod forms;
mod lists;
mod node_calls;
mod slow_readers;
mod verification;

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::support::{
    DevNode, Launch, TestExplorer,
    client::{Answer, Client, http_client},
    faulty_node::{FaultyNode, Script},
};

/// An explorer with the limits that it has if nobody sets any.
fn with_default_limits(rpc: &str) -> Launch {
    Launch::run(rpc).variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 10).variable("EXPLORER_PAGES_PER_MINUTE", 600)
}

/// A chain on a node that counts calls, as one of a public network.
struct Scene {
    chain: DevNode,
    node: FaultyNode,
    explorer: TestExplorer,
}

impl Scene {
    async fn with(transactions: u64) -> Self {
        let (chain, _) = DevNode::with_traffic(transactions).await;
        let node = FaultyNode::start(&chain.chain, 1, Script::default()).await;
        let explorer = with_default_limits(&node.url()).start().await;
        node.wait_for(&explorer).await;
        Self { chain, node, explorer }
    }

    /// Calls of these methods so far.
    fn calls(&self, methods: &[&str]) -> usize {
        let counts = self.node.request_counts().methods;
        methods.iter().map(|method| counts.get(*method).copied().unwrap_or_default()).sum()
    }

    fn client(&self, number: u16) -> Client {
        client_from(&self.explorer, number)
    }
}

/// A client with an address of its own in the loopback network.
fn client_from(explorer: &TestExplorer, number: u16) -> Client {
    let settings = http_client().local_address(Some(client_address(number).into()));
    Client::with_settings(format!("http://{}", explorer.client().host()), settings)
}

fn client_address(number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, 1, high, low)
}

fn cost(answer: &Answer) -> u32 {
    answer.header("x-ratelimit-cost").parse().unwrap_or_else(|_| panic!("no cost: {}", answer.text))
}

fn is_refused(answer: &Answer) -> bool {
    answer.json["result"].as_str().is_some_and(|result| result.starts_with("Max rate limit reached"))
}

fn rows(answer: &Answer) -> &[Value] {
    answer.json["result"].as_array().map_or(&[], Vec::as_slice)
}
