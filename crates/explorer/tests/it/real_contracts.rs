//! Real contracts on a real node: tokens, holders, trades and contracts of the API agree with receipts and contract
//! calls, also after reorgs.

mod assertions;
pub(crate) mod contracts;
mod encoding;
mod expected_state;
pub(crate) mod scenario;

use std::io::Write;

use assertions::{assert_api_agrees, assert_api_agrees_without_creators};
use expected_state::ExpectedState;
use scenario::Scenario;
use serde_json::{Value, json};

use crate::support::{Launch, TestExplorer};

#[tokio::test]
async fn the_api_agrees_with_receipts_and_contract_calls() {
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    let explorer = TestExplorer::start(scenario.anvil.url()).await;
    check_api(&scenario, &explorer, "a chain that was there before").await;
    scenario.run_round(2).await;
    let expected_state = check_api(&scenario, &explorer, "a chain that goes on").await;
    assert_has_activity(&scenario, &expected_state);
}

#[tokio::test]
async fn the_api_agrees_with_receipts_and_contract_calls_after_reorgs() {
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    let explorer = TestExplorer::start(scenario.anvil.url()).await;
    check_api(&scenario, &explorer, "at first").await;
    for (round, depth) in (2..).zip([1_u64, 3, 10]) {
        scenario.run_round(round).await;
        check_api(&scenario, &explorer, &format!("before a reorganisation of depth {depth}")).await;
        scenario.anvil.rpc.call("anvil_reorg", json!([depth, []])).await;
        check_api(&scenario, &explorer, &format!("after a reorganisation of depth {depth}")).await;
        // The same accounts and nonces: other contracts may be deployed at the same addresses.
        scenario.run_round(round + 10).await;
    }
    check_api(&scenario, &explorer, "gone on").await;

    let snapshot = scenario.anvil.rpc.call("evm_snapshot", json!([])).await;
    scenario.run_round(20).await;
    check_api(&scenario, &explorer, "before a long way back").await;
    scenario.anvil.rpc.call("evm_revert", json!([snapshot])).await;
    scenario.run_round(21).await;
    check_api(&scenario, &explorer, "on another branch").await;
}

#[tokio::test]
async fn a_dex_name_shared_by_two_factories_finds_the_trades_of_both() {
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    let mut config = tempfile::NamedTempFile::new().unwrap();
    for factory in [&scenario.factory_v2].into_iter().chain(&scenario.factories_v3) {
        writeln!(config, "[[dex]]\nname = \"House\"\nfactory = \"{factory}\"").unwrap();
    }
    let explorer = Launch::run(scenario.anvil.url()).argument("--config", config.path().display()).start().await;
    scenario.anvil.wait_for(&explorer).await;
    let trades = ExpectedState::read(&scenario).await.trades;
    let all: Vec<&Value> = trades.iter().map(|trade| &trade["txHash"]).collect();
    assert!(all.len() > 7, "{all:?}");
    for (order, offset) in ["asc", "desc"].into_iter().flat_map(|order| (0..=all.len()).map(move |at| (order, at))) {
        let filter = json!({"dex": "HOUSE"});
        let body = json!({"entity": "dex_trades", "filter": filter, "orderBy": order, "limit": 3, "offset": offset});
        let answer = explorer.client().query(body.clone()).await;
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
    let scenario = Scenario::deploy().await;
    scenario.run_round(1).await;
    let traced = TestExplorer::start(scenario.anvil.url()).await;
    let untraced = Launch::run(scenario.anvil.url()).argument("--traces", "off").start().await;
    for explorer in [&traced, &untraced] {
        scenario.anvil.wait_for(explorer).await;
    }
    assert_eq!(traced.json("/api/v1/stats").await["untracedBlocks"], 0);
    assert!(untraced.json("/api/v1/stats").await["untracedBlocks"].as_u64().unwrap() > 50);
    let expected_state = ExpectedState::read(&scenario).await;
    assert_api_agrees_without_creators(&untraced, &expected_state).await;
}

async fn check_api(scenario: &Scenario, explorer: &TestExplorer, what: &str) -> ExpectedState {
    scenario.anvil.wait_for(explorer).await;
    let expected_state = ExpectedState::read(scenario).await;
    assert_api_agrees(explorer, &expected_state, what).await;
    expected_state
}

/// An empty expected state would prove nothing.
fn assert_has_activity(scenario: &Scenario, expected_state: &ExpectedState) {
    for kind in ["BEP20", "BEP721", "BEP1155"] {
        assert!(expected_state.tokens.values().any(|token| token.kind == kind && token.holders.len() > 1), "{kind}");
    }
    let symbols: Vec<&str> = expected_state.tokens.values().map(|token| token.symbol.as_str()).collect();
    for symbol in ["PLAIN", "MINT", "PC", "WRAP", "HUSH", "OLD", "UNIX", "HALF", "UNI-V2"] {
        assert!(symbols.contains(&symbol), "{symbol} among {symbols:?}");
    }
    assert!(expected_state.tokens.values().any(|token| token.name == "A Clone"));
    for factory in [&scenario.factory_v2].into_iter().chain(&scenario.factories_v3) {
        let trades = expected_state.trades.iter().filter(|trade| trade["factory"] == **factory);
        assert!(trades.count() > 1, "trades of {factory}");
    }
    assert!(expected_state.contracts.len() > 20, "{} contracts", expected_state.contracts.len());
}
