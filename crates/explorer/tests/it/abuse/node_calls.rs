//! Requests that used to make thousands of calls to the node.

use std::collections::BTreeMap;

use admission::{Area, prices};

use super::{Scene, cost, is_refused, rows};
use crate::support::{Stopwatch, eventually};

/// What the explorer calls to follow a chain that stands still.
const FOLLOWING: [&str; 4] = ["eth_blockNumber", "eth_getBlockByNumber", "eth_syncing", "eth_chainId"];
/// What a trace counts for in the prices, in calls.
const CALLS_OF_TRACE: u32 = 30;

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

/// All calls so far but those of following, by method.
fn calls_by_method(scene: &Scene) -> BTreeMap<String, usize> {
    let counts = scene.node.request_counts().methods.into_iter();
    counts.filter(|(method, _)| !FOLLOWING.contains(&method.as_str())).collect()
}

#[tokio::test]
async fn no_request_makes_more_calls_to_the_node_than_its_price_says() {
    let scene = Scene::with(1_500).await;
    eventually("a node that is not asked", async || {
        let before = calls_by_method(&scene);
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        (calls_by_method(&scene) == before).then_some(())
    })
    .await;
    let account = busiest(&scene).await;
    let other = format!("{:#x}", scene.chain.account(3));
    let token = scene.explorer.json("/api/v1/tokens").await["tokens"][0]["address"].as_str().unwrap().to_owned();
    let transactions = scene.client(30_001).json("/api/v1/transactions?limit=100").await;
    let hash_where = |succeeded: bool| {
        let all = transactions["transactions"].as_array().unwrap();
        let found = all.iter().find(|found| found["status"] == succeeded || found["success"] == succeeded);
        found.unwrap_or(&all[usize::from(succeeded)])["hash"].as_str().unwrap().to_owned()
    };
    let (good, failed) = (hash_where(true), hash_where(false));
    let bare = token.trim_start_matches("0x");
    let addresses: Vec<String> =
        scene.chain.chain.accounts().iter().map(|one| format!("{:#x}", one.address())).collect();
    let api = |route: &'static str, path: String| (Area::Api, route, path);
    let page = |route: &'static str, path: String| (Area::Pages, route, path);
    let etherscan = |route: &'static str, query: String| {
        let (module, action) = route.split_once('.').unwrap_or(("proxy", "eth_gasPrice"));
        let (module, action) = if route == "proxy.execution" { ("proxy", "eth_call") } else { (module, action) };
        (Area::Etherscan, route, format!("/api?module={module}&action={action}&{query}"))
    };
    let mut requests = vec![
        api("/api/v1/stats", "/api/v1/stats".to_owned()),
        api("/api/v1/blocks/{numberOrHash}/header", "/api/v1/blocks/5/header".to_owned()),
        api("/api/v1/transactions/{hash}", format!("/api/v1/transactions/{good}")),
        api("/api/v1/transactions/{hash}", format!("/api/v1/transactions/{failed}")),
        api("/api/v1/transactions/{hash}/calls", format!("/api/v1/transactions/{good}/calls")),
        api("/api/v1/transactions/{hash}/state-changes", format!("/api/v1/transactions/{good}/state-changes")),
        api("/api/v1/addresses/{address}", format!("/api/v1/addresses/{account}")),
        api("/api/v1/addresses/{address}", format!("/api/v1/addresses/{token}")),
        api("/api/v1/addresses/{address}/balance-history", format!("/api/v1/addresses/{other}/balance-history")),
        api(
            "/api/v1/addresses/{address}/balance-history",
            format!("/api/v1/addresses/{other}/balance-history?token={token}"),
        ),
        api("/api/v1/addresses/{address}/approvals", format!("/api/v1/addresses/{other}/approvals?limit=100")),
        api("/api/v1/contracts/{address}", format!("/api/v1/contracts/{token}")),
        api("/api/v1/contracts/{address}/call", format!("/api/v1/contracts/{token}/call?functionName=totalSupply")),
        etherscan("account.balance", format!("address={}", addresses[4])),
        etherscan("account.balancemulti", format!("address={}", addresses.join(","))),
        etherscan("account.tokenbalance", format!("address={other}&contractaddress={token}")),
        etherscan("account.txlist", format!("address={account}&offset=1000")),
        etherscan("account.tokentx", format!("address={account}&offset=1000")),
        etherscan("logs.getlogs", format!("address={token}")),
        etherscan("contract.getabi", format!("address={token}")),
        etherscan("contract.getsourcecode", format!("address={token}")),
        etherscan("contract.checkproxyverification", format!("guid={bare}")),
        etherscan("stats.tokensupply", format!("contractaddress={token}")),
        etherscan("gastracker.gasoracle", String::new()),
        etherscan("proxy", String::new()),
        etherscan("proxy.execution", format!("to={token}&data=0x18160ddd")),
        (
            Area::Sourcify,
            "/sourcify/v2/contract/{chain}/{address}",
            format!("/sourcify/v2/contract/1/{token}?fields=all"),
        ),
        page("/", "/".to_owned()),
        page("/blocks", "/blocks".to_owned()),
        page("/block/{id}", "/block/5".to_owned()),
        page("/block/{id}/header", "/block/6/header".to_owned()),
        page("/gas", "/gas".to_owned()),
        page("/charts", "/charts".to_owned()),
        page("/search", "/search?q=coin".to_owned()),
        page("/token/{address}", format!("/token/{token}")),
        page("/tx/{hash}", format!("/tx/{good}")),
        page("/tx/{hash}/calls", format!("/tx/{good}/calls")),
        page("/tx/{hash}/state", format!("/tx/{good}/state")),
    ];
    for tab in ["", "transfers", "internal", "tokens", "logs", "balance", "contract", "approvals", "nfts", "trades"] {
        for address in [&other, &token] {
            requests.push(page("/address/{address}", format!("/address/{address}?tab={tab}")));
        }
    }
    for (number, (area, route, path)) in (21_000..).zip(requests) {
        let price = prices().iter().find(|price| price.area == area && price.route == route).expect(route);
        let before = calls_by_method(&scene);
        let answer = scene.client(number).get(&path).await;
        assert!(answer.status < 500 && answer.status != 429, "{path}: {}", answer.text);
        let mut made = calls_by_method(&scene);
        made.retain(|method, calls| {
            *calls -= before.get(method).copied().unwrap_or_default();
            *calls > 0
        });
        let total: usize = made.values().sum();
        println!("{path}: {total} {made:?}");
        let paid = price.work.node_calls + price.work.traces * CALLS_OF_TRACE;
        assert!(total <= paid as usize, "{path}: {made:?}, and its price is for {paid}");
    }
}

#[tokio::test]
async fn fifty_clients_with_long_lists_cost_the_node_little_and_are_refused_in_time() {
    let scene = Scene::with(3_000).await;
    let busiest = busiest(&scene).await;
    let path = format!("/api?module=account&action=txlist&address={busiest}");
    let before = scene.calls(&SINGLE);
    let clients = (100..150).map(|number| {
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
    let served = futures::future::join_all(clients).await;
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
