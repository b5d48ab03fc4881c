//! Real contracts on a real node: what the API says of tokens, holders, trades and contracts is what receipts and the
//! contracts themselves say, also after reorganisations.

mod contracts;
mod encoding;
mod scene;
mod served;
mod truth;

use std::io::Write;

use serde_json::{Value, json};

use crate::support::{Launch, TestExplorer};
use scene::Scene;
use served::{assert_told, assert_told_without_makers};
use truth::Truth;

#[tokio::test]
async fn the_api_agrees_with_receipts_and_contract_calls() {
    let scene = Scene::set().await;
    scene.play(1).await;
    let explorer = TestExplorer::start(scene.anvil.url()).await;
    told(&scene, &explorer, "a chain that was there before").await;
    scene.play(2).await;
    let truth = told(&scene, &explorer, "a chain that goes on").await;
    assert_lively(&scene, &truth);
}

#[tokio::test]
async fn the_api_agrees_with_receipts_and_contract_calls_after_reorgs() {
    let scene = Scene::set().await;
    scene.play(1).await;
    let explorer = TestExplorer::start(scene.anvil.url()).await;
    told(&scene, &explorer, "at first").await;
    for (round, depth) in (2..).zip([1_u64, 3, 10]) {
        scene.play(round).await;
        told(&scene, &explorer, &format!("before a reorganisation of depth {depth}")).await;
        scene.anvil.rpc.call("anvil_reorg", json!([depth, []])).await;
        told(&scene, &explorer, &format!("after a reorganisation of depth {depth}")).await;
        // The same accounts go on with the same nonces: other contracts may stand at the same addresses.
        scene.play(round + 10).await;
    }
    told(&scene, &explorer, "gone on").await;

    let snapshot = scene.anvil.rpc.call("evm_snapshot", json!([])).await;
    scene.play(20).await;
    told(&scene, &explorer, "before a long way back").await;
    scene.anvil.rpc.call("evm_revert", json!([snapshot])).await;
    scene.play(21).await;
    told(&scene, &explorer, "on another branch").await;
}

#[tokio::test]
async fn a_dex_name_shared_by_two_factories_finds_the_trades_of_both() {
    let scene = Scene::set().await;
    scene.play(1).await;
    let mut config = tempfile::NamedTempFile::new().unwrap();
    for factory in [&scene.factory_v2].into_iter().chain(&scene.factories_v3) {
        writeln!(config, "[[dex]]\nname = \"House\"\nfactory = \"{factory}\"").unwrap();
    }
    let explorer = Launch::run(scene.anvil.url()).argument("--config", config.path().display()).start().await;
    scene.anvil.wait_for(&explorer).await;
    let trades = Truth::read(&scene).await.trades;
    let all: Vec<&Value> = trades.iter().map(|trade| &trade["txHash"]).collect();
    assert!(all.len() > 7, "{all:?}");
    for (order, offset) in ["asc", "desc"].into_iter().flat_map(|order| (0..=all.len()).map(move |at| (order, at))) {
        let filter = json!({"dex": "HOUSE"});
        let body = json!({"entity": "dex_trades", "filter": filter, "orderBy": order, "limit": 3, "offset": offset});
        let client = explorer.client();
        let request = client.request("POST", "/api/v1/query").header("Content-Type", "application/json");
        let answer = client.send(request.body(body.to_string())).await.ok();
        let expected: Vec<&Value> = match order {
            "asc" => all.iter().rev().skip(offset).take(3).copied().collect(),
            _ => all.iter().skip(offset).take(3).copied().collect(),
        };
        let found: Vec<&Value> = answer["data"].as_array().unwrap().iter().map(|trade| &trade["txHash"]).collect();
        assert_eq!(found, expected, "{body}");
        assert_eq!(answer["total"], all.len(), "{body}");
    }
}

#[tokio::test]
async fn without_traces_contracts_have_no_creator_and_stats_count_untraced_blocks() {
    let scene = Scene::set().await;
    scene.play(1).await;
    let traced = TestExplorer::start(scene.anvil.url()).await;
    let untraced = Launch::run(scene.anvil.url()).argument("--traces", "off").start().await;
    for explorer in [&traced, &untraced] {
        scene.anvil.wait_for(explorer).await;
    }
    assert_eq!(traced.json("/api/v1/stats").await["untracedBlocks"], 0);
    assert!(untraced.json("/api/v1/stats").await["untracedBlocks"].as_u64().unwrap() > 50);
    let truth = Truth::read(&scene).await;
    assert_told_without_makers(&untraced, &truth).await;
}

async fn told(scene: &Scene, explorer: &TestExplorer, what: &str) -> Truth {
    scene.anvil.wait_for(explorer).await;
    let truth = Truth::read(scene).await;
    assert_told(explorer, &truth, what).await;
    truth
}

/// A truth in which nothing happens would prove nothing.
fn assert_lively(scene: &Scene, truth: &Truth) {
    for kind in ["BEP20", "BEP721", "BEP1155"] {
        assert!(truth.tokens.values().any(|token| token.kind == kind && token.holders.len() > 1), "{kind}");
    }
    let symbols: Vec<&str> = truth.tokens.values().map(|token| token.symbol.as_str()).collect();
    for symbol in ["PLAIN", "MINT", "PC", "WRAP", "HUSH", "OLD", "UNIX", "HALF", "UNI-V2"] {
        assert!(symbols.contains(&symbol), "{symbol} among {symbols:?}");
    }
    assert!(truth.tokens.values().any(|token| token.name == "A Clone"));
    for factory in [&scene.factory_v2].into_iter().chain(&scene.factories_v3) {
        let trades = truth.trades.iter().filter(|trade| trade["factory"] == **factory);
        assert!(trades.count() > 1, "trades of {factory}");
    }
    assert!(truth.contracts.len() > 20, "{} contracts", truth.contracts.len());
}
