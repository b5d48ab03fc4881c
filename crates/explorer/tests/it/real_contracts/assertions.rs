//! Compares the API with the expected state.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::expected_state::{ExpectedState, ExpectedToken};
use crate::support::{TestExplorer, api_state::text, client::Client, eventually, read_list};

/// Compares everything that the API returns with the expected state.
pub(super) async fn assert_api_agrees(explorer: &TestExplorer, expected_state: &ExpectedState, what: &str) {
    let client = explorer.client().with_keep_alive();
    let transfers = query_all(&client, "token_transfers", json!({})).await;
    assert_records(&without_token_names(&transfers), &expected_state.transfers, &format!("{what}: transfers"));
    let trades = query_all(&client, "dex_trades", json!({})).await;
    assert_records(&without_token_names(&trades), &expected_state.trades, &format!("{what}: trades"));
    wait_for_tokens(&client, expected_state, what).await;
    token_names_agree(&client, expected_state, what).await;
    filters_agree(&client, expected_state, what).await;
    contracts_agree(&client, expected_state, what).await;
}

/// Waits until names, supplies, holders and balances agree with the contracts.
async fn wait_for_tokens(client: &Client, expected_state: &ExpectedState, what: &str) {
    let mut last = String::new();
    eventually(&format!("{what}: tokens that agree"), async || {
        let Some(difference) = token_difference(client, expected_state).await else { return Some(()) };
        if difference != last {
            println!("{what}: {difference}");
            last = difference;
        }
        None
    })
    .await;
}

async fn token_difference(client: &Client, expected_state: &ExpectedState) -> Option<String> {
    let listed = read_list(client, "/api/v1/tokens?", "tokens").await;
    let counts: Vec<u64> = listed.iter().map(|token| token["holderCount"].as_u64().unwrap()).collect();
    let listed: BTreeMap<String, Value> =
        listed.into_iter().map(|token| (text(&token["address"]).to_owned(), token)).collect();
    if !listed.keys().eq(expected_state.tokens.keys()) {
        return Some(format!("tokens {:?} instead of {:?}", listed.keys(), expected_state.tokens.keys()));
    }
    for (address, expected) in &expected_state.tokens {
        let found = read_token(client, address, &listed[address]).await;
        if found != *expected {
            return Some(format!("token {address}: {found:?} instead of {expected:?}; {}", listed[address]));
        }
        if listed[address]["holderCount"] != expected.holders.len() {
            return Some(format!("holders of {address}: {} not {}", listed[address], expected.holders.len()));
        }
    }
    assert!(counts.is_sorted_by(|a, b| a >= b), "the most held token comes first: {counts:?}");
    let mut held: BTreeMap<&String, BTreeMap<&String, U256>> = BTreeMap::new();
    for (token, expected) in &expected_state.tokens {
        for (holder, balance) in &expected.holders {
            held.entry(holder).or_default().insert(token, *balance);
        }
    }
    for (holder, expected) in held {
        let tokens = read_list(client, &format!("/api/v1/addresses/{holder}/tokens?"), "tokens").await;
        let address = |entry: &Value| text(&entry["token"]["address"]).to_owned();
        let found: BTreeMap<String, U256> = tokens.iter().map(|entry| (address(entry), balance(entry))).collect();
        let agrees = found.iter().map(|(token, balance)| (token, *balance)).eq(expected.clone());
        if !agrees {
            return Some(format!("what {holder} holds: {found:?} instead of {expected:?}"));
        }
    }
    None
}

fn balance(entry: &Value) -> U256 {
    text(&entry["balance"]).parse().unwrap()
}

async fn read_token(client: &Client, address: &str, token: &Value) -> ExpectedToken {
    let holders = read_list(client, &format!("/api/v1/tokens/{address}/holders?"), "holders").await;
    assert!(holders.iter().map(balance).is_sorted_by(|a, b| a >= b), "the largest balance comes first");
    let kinds = ["BEP20", "BEP721", "BEP1155"];
    let is_unknown = |field: &str| token["unknownFields"].as_array().unwrap().iter().any(|unknown| unknown == field);
    ExpectedToken {
        kind: kinds.into_iter().find(|kind| token["type"] == **kind).unwrap(),
        name: text(&token["name"]).to_owned(),
        symbol: text(&token["symbol"]).to_owned(),
        decimals: token["decimals"].as_u64().filter(|_| !is_unknown("decimals")),
        total_supply: text(&token["totalSupply"]).parse().unwrap(),
        transfer_count: usize::try_from(token["transferCount"].as_u64().unwrap()).unwrap(),
        holders: holders.iter().map(|holder| (text(&holder["address"]).to_owned(), balance(holder))).collect(),
    }
}

/// Transfers and trades contain the names and symbols of their tokens.
async fn token_names_agree(client: &Client, expected_state: &ExpectedState, what: &str) {
    for transfer in query_all(client, "token_transfers", json!({})).await {
        let token = &expected_state.tokens[text(&transfer["tokenAddress"])];
        let words = json!([transfer["tokenName"], transfer["tokenSymbol"], transfer["tokenDecimals"]]);
        assert_eq!(words, json!([token.name, token.symbol, token.decimals]), "{what}: {transfer}");
    }
    for trade in query_all(client, "dex_trades", json!({})).await {
        for side in ["In", "Out"] {
            let token = &expected_state.tokens[text(&trade[format!("token{side}")])];
            let words = [&trade[format!("token{side}Symbol")], &trade[format!("token{side}Decimals")]];
            assert_eq!(json!(words), json!([token.symbol, token.decimals]), "{what}: {trade}");
        }
    }
}

/// Every filter and some combinations, for every participant of a transfer or trade.
async fn filters_agree(client: &Client, expected_state: &ExpectedState, what: &str) {
    let newest = expected_state.transfers.first().map_or(0, |transfer| transfer["blockNumber"].as_u64().unwrap());
    let (low, high) = (newest / 3, newest - newest / 4);
    let within = |record: &Value| (low..=high).contains(&record["blockNumber"].as_u64().unwrap());
    let check = async |entity: &str, filter: Value, records: &[Value], holds: &dyn Fn(&Value) -> bool| {
        let expected: Vec<Value> = records.iter().filter(|record| holds(record)).cloned().collect();
        let found = without_token_names(&query_all(client, entity, filter.clone()).await);
        assert_records(&found, &expected, &format!("{what}: {entity} {filter}"));
    };
    let all = |field: &str, records: &[Value]| -> BTreeSet<String> {
        records.iter().map(|record| text(&record[field]).to_owned()).collect()
    };
    let moved = expected_state.transfers.as_slice();
    for token in all("tokenAddress", moved) {
        check("token_transfers", json!({"tokenAddress": token}), moved, &|r| r["tokenAddress"] == *token).await;
    }
    for account in all("fromAddress", moved).union(&all("toAddress", moved)) {
        let (gives, takes) = (|r: &Value| r["fromAddress"] == **account, |r: &Value| r["toAddress"] == **account);
        check("token_transfers", json!({"from": account}), moved, &gives).await;
        check("token_transfers", json!({"to": account}), moved, &takes).await;
        check("token_transfers", json!({"address": account}), moved, &|r| gives(r) || takes(r)).await;
        let range = json!({"address": account, "blockFrom": low, "blockTo": high.to_string()});
        check("token_transfers", range, moved, &|r| (gives(r) || takes(r)) && within(r)).await;
        let own = json!({"from": account, "to": account});
        check("token_transfers", own, moved, &|r| gives(r) && takes(r)).await;
    }
    let traded = expected_state.trades.as_slice();
    for maker in all("maker", traded) {
        check("dex_trades", json!({"address": maker}), traded, &|r| r["maker"] == *maker).await;
        for dex in all("dex", traded) {
            let both = json!({"address": maker, "dex": dex.to_uppercase().replace("X", "x"), "blockFrom": low});
            let holds = |r: &Value| r["maker"] == *maker && r["dex"] == *dex && r["blockNumber"].as_u64() >= Some(low);
            check("dex_trades", both, traded, &holds).await;
        }
    }
    for dex in all("dex", traded) {
        check("dex_trades", json!({"dex": dex}), traded, &|r| r["dex"] == *dex).await;
    }
    check("dex_trades", json!({"dex": "nobody"}), traded, &|_| false).await;
}

/// Contracts created by transactions and by other contracts.
async fn contracts_agree(client: &Client, expected_state: &ExpectedState, what: &str) {
    for (address, expected) in &expected_state.contracts {
        let found = client.json(&format!("/api/v1/addresses/{address}")).await;
        let contract = &found["contract"];
        let told = json!([found["isContract"], contract["creator"], contract["creationTxHash"], contract["codeHash"]]);
        let expected = json!([true, expected.creator, expected.creation_tx_hash, expected.code_hash]);
        assert_eq!(told, expected, "{what}: contract {address}");
    }
}

/// Internally created contracts are known if they emitted a log or were called; their creators are not.
pub(super) async fn assert_api_agrees_without_creators(explorer: &TestExplorer, expected_state: &ExpectedState) {
    let mut known = 0;
    for (address, expected) in &expected_state.contracts {
        let answer = explorer.get(&format!("/api/v1/addresses/{address}")).await;
        if answer.status == 404 {
            assert!(!expected_state.tokens.contains_key(address), "a contract that emitted a log is known: {address}");
            continue;
        }
        let found = answer.ok();
        assert_eq!((&found["isContract"], &found["contract"]["codeHash"]), (&true.into(), &json!(expected.code_hash)));
        let creation = found["contract"]["creationTxHash"].clone();
        assert!(creation.is_null() || creation == expected.creation_tx_hash, "{address}: {creation}");
        known += u32::from(creation.is_null());
    }
    assert!(known > 3, "contracts without a known maker: {known}");
}

/// All pages of a query.
async fn query_all(client: &Client, entity: &str, filter: Value) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    loop {
        let body = json!({"entity": entity, "filter": filter, "limit": 100, "offset": found.len()});
        let mut answer = client.query(body.clone()).await;
        let Value::Array(page) = answer["data"].take() else { panic!("{answer}") };
        assert_eq!(answer["count"], page.len(), "{body}");
        let done = page.is_empty();
        found.extend(page);
        assert!(answer["total"].as_u64().unwrap() >= found.len() as u64, "{body}");
        if done {
            assert_eq!(answer["total"], found.len(), "{body}");
            return found;
        }
    }
}

/// Records without token names, symbols and decimals.
fn without_token_names(records: &[Value]) -> Vec<Value> {
    let words = ["tokenName", "tokenSymbol", "tokenDecimals"];
    let traded = ["tokenInSymbol", "tokenOutSymbol", "tokenInDecimals", "tokenOutDecimals"];
    let mut records = records.to_vec();
    for record in records.iter_mut().filter_map(Value::as_object_mut) {
        for word in words.into_iter().chain(traded) {
            record.remove(word);
        }
    }
    records
}

#[track_caller]
fn assert_records(found: &[Value], expected: &[Value], what: &str) {
    for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "{what}, at {place}");
    }
    assert_eq!(found.len(), expected.len(), "{what}: how many");
}
