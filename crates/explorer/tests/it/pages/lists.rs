//! Tools of lists: filters, page sizes and files for spreadsheets.

use alloy_primitives::U512;
use serde_json::{Value, json};

use crate::support::{DevNode, Launch, TestExplorer, eventually};

async fn query(explorer: &TestExplorer, entity: &str, filter: Value) -> Value {
    explorer.client().query(json!({ "entity": entity, "filter": filter, "limit": 100 })).await
}

/// An explorer that has caught up with a node, without limits of requests.
async fn unlimited(node: &DevNode) -> TestExplorer {
    let launch = Launch::run(&node.url()).argument("--anonymous-requests-per-minute", 0);
    let explorer = launch.argument("--pages-per-minute", 0).start().await;
    node.wait_for(&explorer).await;
    explorer
}

/// The number of entries that the pager of a page tells.
fn total(page: &str) -> u64 {
    let before = page.split(" total").next().unwrap();
    before.rsplit('>').next().unwrap().replace(',', "").parse().unwrap()
}

#[tokio::test]
async fn lists_of_an_address_are_filtered_as_by_the_query_endpoint() {
    let (node, _) = DevNode::with_traffic(300).await;
    let explorer = unlimited(&node).await;
    let transfers = query(&explorer, "token_transfers", json!({})).await;
    let transfer = &transfers["data"][0];
    let [from, to, token] =
        ["fromAddress", "toAddress", "tokenAddress"].map(|name| transfer[name].as_str().unwrap().to_owned());
    let middle = node.chain.head().number / 2;
    for (entity, tab, url, filter) in [
        ("transactions", "", "direction=out".to_owned(), json!({ "from": from })),
        ("transactions", "", format!("fromBlock={middle}"), json!({ "address": from, "blockFrom": middle })),
        ("token_transfers", "transfers", "direction=in".to_owned(), json!({ "to": from })),
        (
            "token_transfers",
            "transfers",
            format!("direction=out&counterparty={to}&token={token}&toBlock={middle}"),
            json!({ "from": from, "to": to, "tokenAddress": token, "blockTo": middle }),
        ),
    ] {
        let expected = query(&explorer, entity, filter).await;
        let path = format!("/address/{from}?tab={tab}&{url}");
        let page = explorer.get(&path).await.text;
        assert_eq!(total(&page), expected["total"].as_u64().unwrap(), "{path}");
        let file = explorer.get(&format!("{path}&limit=100&format=csv")).await;
        assert!(file.header("content-type").starts_with("text/csv"), "{path}");
        assert!(file.header("content-disposition").starts_with("attachment"), "{path}");
        let json = explorer.get(&format!("{path}&limit=100&format=json")).await;
        assert_eq!(json.json.as_array().unwrap().len(), file.text.lines().count() - 1, "{path}");
        let rows: Vec<&str> = file.text.lines().skip(1).collect();
        let hash = if entity == "transactions" { "hash" } else { "txHash" };
        let hashes: Vec<&str> =
            expected["data"].as_array().unwrap().iter().map(|entry| entry[hash].as_str().unwrap()).collect();
        assert_eq!(rows.iter().map(|row| row.split(',').next().unwrap()).collect::<Vec<_>>(), hashes, "{path}");
    }

    let all = explorer.get(&format!("/address/{from}")).await.text;
    assert!(all.contains("<span class=\"direction out\">") && all.contains("#i-out\"/></svg>out</span>"), "{all}");
    for (url, words) in [
        ("counterparty=0x12&direction=in", "40 hexadecimal digits"),
        ("fromBlock=x", "A block is a whole number"),
        ("toBlock=2026-02-30", "a day is written as"),
        ("counterparty=0x0000000000000000000000000000000000000001", "choose whether it is the sender"),
    ] {
        let answer = explorer.get(&format!("/address/{from}?{url}")).await;
        assert_eq!((answer.status, total(&answer.text)), (200, 0), "{url}");
        assert!(answer.text.contains(words), "{url}");
    }
}

#[tokio::test]
async fn lists_of_an_address_are_filtered_by_day_and_method() {
    let (node, _) = DevNode::with_traffic(300).await;
    let explorer = unlimited(&node).await;
    let newest = query(&explorer, "transactions", json!({})).await;
    let sender = newest["data"][0]["fromAddress"].as_str().unwrap();
    let sent = query(&explorer, "transactions", json!({ "from": sender })).await;
    let sent = sent["data"].as_array().unwrap();
    let day = |entry: &Value| entry["timestamp"].as_str().unwrap()[..10].to_owned();
    let today = day(&sent[0]);
    let count = |matches: &dyn Fn(&Value) -> bool| sent.iter().filter(|entry| matches(entry)).count() as u64;
    for (url, expected) in [
        (format!("fromBlock={today}"), count(&|entry| day(entry) >= today)),
        (format!("toBlock={today}"), count(&|entry| day(entry) <= today)),
        (format!("fromBlock={today}&toBlock={today}"), count(&|entry| day(entry) == today)),
        ("toBlock=1999-12-31".to_owned(), 0),
        ("fromBlock=2999-12-31".to_owned(), 0),
    ] {
        let page = explorer.get(&format!("/address/{sender}?direction=out&{url}")).await.text;
        assert_eq!(total(&page), expected, "{url}");
    }

    let with_method: Vec<&Value> = sent.iter().filter(|entry| !entry["method"].is_null()).collect();
    let selector = with_method.first().expect("a call among the newest transactions")["method"].as_str().unwrap();
    let expected = count(&|entry| entry["method"] == selector);
    for method in [selector.to_owned(), selector.to_uppercase()] {
        let path = format!("/address/{sender}?direction=out&method={method}");
        let page = explorer.get(&path).await.text;
        assert_eq!(total(&page), expected, "{path}");
        assert!(page.contains("among the newest 500 transactions"), "{page}");
        let file = explorer.get(&format!("{path}&limit=100&format=csv")).await.text;
        assert_eq!(file.lines().count() as u64, expected + 1, "{path}");
    }
    // By name, as the list shows it.
    let sends = count(&|entry| entry["method"].is_null() && entry["toAddress"] != "");
    assert_eq!(total(&explorer.get(&format!("/address/{sender}?direction=out&method=Send")).await.text), sends);
}

#[tokio::test]
async fn a_page_has_as_many_rows_as_were_chosen() {
    let (node, _) = DevNode::with_traffic(300).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    for (url, rows) in [("", 25), ("?limit=100", 100), ("?limit=100&page=2", 100), ("?limit=99", 25)] {
        let page = explorer.get(&format!("/transactions{url}")).await.text;
        assert_eq!(page.matches("<tr data-key").count(), rows, "{url}");
        let file =
            explorer.get(&format!("/transactions{url}{}format=csv", if url.is_empty() { '?' } else { '&' })).await;
        assert_eq!(file.text.lines().count(), rows + 1, "{url}");
    }
    let page = explorer.get("/transactions").await.text;
    assert!(
        page.contains("<form class=\"jump\" action=\"/transactions\">"),
        "a list of many pages has a field for the page"
    );
    assert!(explorer.get("/blocks?format=csv").await.text.starts_with("number,hash,time,"));
    assert!(explorer.get("/transfers?format=csv").await.text.starts_with("transaction,log,block,"));
}

/// The shares of the holders of a token, as its page has to show them: none if there are no plausible ones.
async fn expected_shares(explorer: &TestExplorer, token: &str) -> Vec<String> {
    let number = |value: &Value| value.as_str().unwrap().parse::<U512>().unwrap();
    let supply = number(&explorer.json(&format!("/api/v1/tokens/{token}")).await["totalSupply"]);
    let listed = explorer.json(&format!("/api/v1/tokens/{token}/holders?limit=100")).await;
    let holders = listed["holders"].as_array().unwrap().iter();
    let balances: Vec<U512> = holders.map(|holder| number(&holder["balance"])).collect();
    let is_known = !supply.is_zero() && balances.iter().sum::<U512>() <= supply;
    let share = |balance: &U512| match u64::try_from(balance * U512::from(10_000) / supply).unwrap() {
        0 => "<0.01 %".to_owned(),
        parts => format!("{}.{:02} %", parts / 100, parts % 100),
    };
    balances.iter().map(|balance| if is_known { share(balance) } else { String::new() }).collect()
}

#[tokio::test]
async fn holders_have_their_share_of_the_supply_and_lists_of_tokens_have_files() {
    let (node, _) = DevNode::with_traffic(300).await;
    let explorer = unlimited(&node).await;
    let tokens = explorer.json("/api/v1/tokens?limit=100").await["tokens"].as_array().unwrap().clone();
    let held: Vec<&Value> = tokens.iter().filter(|token| token["holderCount"] != 0).collect();
    for token in held.iter().map(|token| token["address"].as_str().unwrap()) {
        // Holders and the supply lag behind the tip; contracts that do not tell their supply have one from transfers.
        let shares = eventually("the shares of all holders", async || {
            let expected = expected_shares(&explorer, token).await;
            let file = explorer.get(&format!("/token/{token}?tab=holders&limit=100&format=csv")).await.text;
            let shares: Vec<String> =
                file.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().to_owned()).collect();
            (shares == expected && shares.first().is_some_and(|share| !share.is_empty())).then_some(shares)
        })
        .await;
        let page = explorer.get(&format!("/token/{token}?tab=holders&limit=100")).await.text;
        assert!(page.contains("Largest holders"), "{token} {page}");
        assert!(page.contains(&format!(": {}\"", shares[0].replace('<', "&#60;"))), "{shares:?} {page}");
    }
    assert!(held.len() >= 3, "{held:?}");

    let holder = explorer.json("/api/v1/transactions").await["transactions"][0]["fromAddress"].clone();
    let (holder, token) = (holder.as_str().unwrap(), tokens[0]["address"].as_str().unwrap());
    for (page, columns, path, name) in [
        ("/tokens?".to_owned(), "token,symbol,name,type,decimals,supply,", "/api/v1/tokens".to_owned(), "tokens"),
        (
            format!("/address/{holder}?tab=tokens&"),
            "token,symbol,name,balance,decimals",
            format!("/api/v1/addresses/{holder}/tokens"),
            "tokens",
        ),
    ] {
        let file = explorer.get(&format!("{page}format=csv")).await.text;
        assert!(file.starts_with(columns), "{file}");
        assert_eq!(file.lines().count() - 1, explorer.json(&path).await[name].as_array().unwrap().len(), "{page}");
        assert!(explorer.get(page.trim_end_matches(['?', '&'])).await.text.contains("format=csv"), "{page}");
    }
    let trades = query(&explorer, "dex_trades", json!({})).await;
    let file = explorer.get("/trades?limit=100&format=csv").await.text;
    let hashes: Vec<&str> = file.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    let expected = trades["data"].as_array().unwrap().iter().map(|trade| trade["txHash"].as_str().unwrap());
    assert_eq!(hashes, expected.collect::<Vec<_>>());
    let maker = trades["data"][0]["maker"].as_str().unwrap();
    let file = explorer.get(&format!("/address/{maker}?tab=trades&format=csv")).await.text;
    assert!(file.starts_with("transaction,log,block,time,maker,pool,") && file.contains(hashes[0]), "{file}");
    let file = explorer.get(&format!("/token/{token}?format=csv")).await.text;
    assert!(file.starts_with("transaction,log,block,") && file.lines().count() > 1, "{file}");
}
