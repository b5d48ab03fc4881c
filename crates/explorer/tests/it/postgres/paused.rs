//! Processes that stand still (SIGSTOP) while they hold a lock, and go on later: another one takes over, and what the first
//! one does afterwards changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{TxKind, U256};

use super::{role, server::Server};
use crate::{
    support::{
        DevNode, eventually, expected_state,
        fixture::lower_hex,
        process::Process,
        read_api,
        receiver::{Received, Receiver},
    },
    webhooks::register,
};

async fn wait_for_log(process: &Process, text: &str) {
    eventually(&format!("{text:?} in the log"), async || process.stderr().contains(text).then_some(())).await;
}

#[tokio::test]
async fn an_indexer_that_stands_still_is_replaced_and_cannot_write_when_it_goes_on() {
    let server = Server::shared();
    let url = server.database().await;
    let (node, mut traffic) = DevNode::with_traffic(40).await;
    let first = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    node.wait_for(&serving).await;
    let second = role(&node.url(), &url, "index").spawn();
    wait_for_log(&second, "another process writes the index, standing by").await;
    first.pause();
    traffic.step().unwrap();
    node.chain.mine(None);
    node.wait_for(&serving).await;
    wait_for_log(&second, "this process writes the index now").await;

    first.resume();
    wait_for_log(&first, "another process writes the index, standing by").await;
    node.chain.reorg(3, 5, devchain::ReorgedTransactions::Replay).unwrap();
    traffic.step().unwrap();
    node.chain.mine(None);
    node.wait_for(&serving).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(&serving, expected.address_names()).await.assert_equals(&expected, "after the pause");
}

#[tokio::test]
async fn a_deliverer_that_stands_still_is_replaced_and_nothing_is_lost() {
    let server = Server::shared();
    let url = server.database().await;
    let node = DevNode::start().await;
    let _indexing = role(&node.url(), &url, "index").spawn();
    let serving = role(&node.url(), &url, "serve").start().await;
    let first = role(&node.url(), &url, "deliver").spawn();
    wait_for_log(&first, "this process sends webhooks").await;
    let second = role(&node.url(), &url, "deliver").spawn();
    wait_for_log(&second, "another process sends webhooks, standing by").await;
    node.wait_for(&serving).await;
    let receiver = Receiver::start().await;
    register(&serving, &receiver.url("/hook"), &lower_hex(node.account(1)), &["tx"]).await;
    let mut sent = Vec::new();
    let mut pay = |payments: u64| {
        for _ in 0..payments {
            let value = U256::from(1 + sent.len());
            sent.push(node.chain.send(0, TxKind::Call(node.account(1)), value, []).unwrap().to_string());
            node.chain.mine(None);
        }
        sent.clone()
    };
    pay(5);
    receiver.wait_for("/hook", 5).await;
    first.pause();
    pay(5);
    receiver.wait_for("/hook", 10).await;
    wait_for_log(&second, "this process sends webhooks").await;
    first.resume();
    let sent = pay(5);
    let all_arrived = async || {
        let received = receiver.at_path("/hook");
        sent.iter().all(|hash| received.iter().any(|message| hash_of(message) == *hash)).then_some(received)
    };
    let received = eventually("all messages", all_arrived).await;
    wait_for_log(&first, "another process sends webhooks, standing by").await;

    let mut bodies: BTreeMap<String, &str> = BTreeMap::new();
    let mut order = Vec::new();
    for message in &received {
        match bodies.insert(message.id().to_owned(), &message.body) {
            Some(before) => assert_eq!(before, message.body, "a repeated message is the same"),
            None => order.push(hash_of(message)),
        }
    }
    // Several messages to a receiver may be in flight at once, so the order holds between the groups.
    for (received, sent) in order.chunks(5).zip(sent.chunks(5)) {
        assert_eq!(BTreeSet::from_iter(received), BTreeSet::from_iter(sent), "{order:?}");
    }
    assert_eq!(order.len(), sent.len());
}

fn hash_of(message: &Received) -> String {
    message.json()["data"]["hash"].as_str().unwrap().to_owned()
}
