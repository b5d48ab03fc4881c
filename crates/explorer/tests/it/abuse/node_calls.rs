//! Requests that used to make thousands of calls to the node.

use super::{Scene, cost, is_refused, rows};
use crate::support::{Stopwatch, eventually};

/// Of transactions and their receipts, one by one.
const SINGLE: [&str; 2] = ["eth_getTransactionByHash", "eth_getTransactionReceipt"];

#[tokio::test]
async fn a_list_of_all_transactions_makes_at_most_one_call_to_the_node_for_100_rows() {
    let scene = Scene::with(3_000).await;
    let busiest = busiest(&scene).await;
    for (number, action) in (0..).zip(["txlist", "tokentx", "tokennfttx", "token1155tx"]) {
        let before = scene.calls(&SINGLE);
        let path = format!("/api?module=account&action={action}&address={busiest}");
        let answer = scene.client(number).get(&path).await;
        let found = rows(&answer).len();
        let calls = scene.calls(&SINGLE) - before;
        assert!(calls <= found.div_ceil(100).max(10), "{action}: {calls} calls for {found} rows");
        if action == "txlist" {
            assert!(found > 1_000, "{found} rows of {busiest}");
            assert_eq!(cost(&answer) as usize, found.div_ceil(1_000), "by the rows that there are");
            assert!(rows(&answer).iter().all(|row| row["gas"] != "" && row["cumulativeGasUsed"] != ""));
        }
    }
}

#[tokio::test]
async fn fifty_strangers_with_long_lists_cost_the_node_little_and_are_refused_in_time() {
    let scene = Scene::with(3_000).await;
    let busiest = busiest(&scene).await;
    let path = format!("/api?module=account&action=txlist&address={busiest}");
    let before = scene.calls(&SINGLE);
    let strangers = (100..150).map(|number| {
        let (client, path) = (scene.client(number), path.clone());
        async move {
            let mut served = 0;
            for _ in 0..6 {
                let answer = client.get(&path).await;
                served += usize::from(!rows(&answer).is_empty());
                assert!(is_refused(&answer) || !rows(&answer).is_empty(), "{}", answer.text);
            }
            served
        }
    });
    let served = futures::future::join_all(strangers).await;
    // Such a list costs at least 2 of 10.
    assert!(served.iter().all(|served| (1..=5).contains(served)), "{served:?}");
    let calls = scene.calls(&SINGLE) - before;
    assert!(calls <= 50 * 5 * 30, "{calls} calls for {served:?}");
}

#[tokio::test]
async fn polls_of_a_proxy_are_counted_and_answered_once_a_block() {
    let scene = Scene::with(200).await;
    let tokens = scene.explorer.json("/api/v1/tokens").await;
    let contract = tokens["tokens"][0]["address"].as_str().unwrap().trim_start_matches("0x").to_owned();
    let path = format!("/api?module=contract&action=checkproxyverification&guid={contract}");
    let client = scene.client(1);
    let execution = ["eth_getCode", "eth_getStorageAt", "eth_call"];
    // Until names and codes of contracts are read.
    let before = eventually("a node that is not asked", async || {
        let before = scene.calls(&execution);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        (scene.calls(&execution) == before).then_some(before)
    })
    .await;
    assert_eq!(cost(&client.get(&path).await), 1);
    let asked = scene.calls(&execution) - before;
    assert!(asked <= 10, "{asked} calls for the first answer");
    let before = scene.calls(&execution);
    let answers = futures::future::join_all((0..30).map(|_| client.get(&path))).await;
    assert_eq!(answers.iter().filter(|answer| !is_refused(answer)).count(), 9, "ten in a minute");
    assert_eq!(scene.calls(&execution), before, "the first answer was cached");
}

#[tokio::test]
async fn a_call_with_endless_gas_ends() {
    let scene = Scene::with(100).await;
    // JUMPDEST PUSH1 0 JUMP, as creation code.
    let forever = "0x5b600056";
    let path = format!("/api?module=proxy&action=eth_call&data={forever}&gas=0xffffffffffff");
    let watch = Stopwatch::start();
    let answer = scene.client(1).get(&path).await;
    assert!(answer.json["error"].is_object() || answer.json["result"].is_string(), "{}", answer.text);
    watch.assert_within(16);
    assert_eq!(cost(&answer), 2);
}

/// The address with the most transactions: an account, or a token that many call.
async fn busiest(scene: &Scene) -> String {
    let tokens = scene.explorer.json("/api/v1/tokens?limit=100").await;
    let tokens = tokens["tokens"].as_array().unwrap().iter().map(|token| token["address"].as_str().unwrap().to_owned());
    let accounts = scene.chain.chain.accounts().iter().map(|account| format!("{:#x}", account.address()));
    let mut most = (0, String::new());
    for (number, address) in (20_000..).zip(accounts.chain(tokens).collect::<Vec<_>>()) {
        // Each from another address, so that nobody is limited.
        let found = scene.client(number).json(&format!("/api/v1/transactions?limit=1&address={address}")).await;
        most = most.max((found["total"].as_u64().unwrap(), address));
    }
    most.1
}
