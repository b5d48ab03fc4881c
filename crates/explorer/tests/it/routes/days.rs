//! Figures by day, compared with sums over blocks and transactions.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::U256;
use devchain::{
    DevChain, DevChainConfig, ReorgedTransactions,
    traffic::{HistoryPlan, Traffic},
};
use serde_json::{Value, json};

use crate::{
    internal::wait_for_traces,
    support::{DevNode, Launch, TestExplorer, read_list},
};

/// A chain whose blocks are some hours apart.
async fn slow_chain() -> DevNode {
    let made = tokio::task::spawn_blocking(|| {
        let plan = HistoryPlan { transactions: 200, end: 1_800_000_000, block_seconds: 20_000, days: 0 };
        let genesis_timestamp = plan.genesis_timestamp();
        let chain = DevChain::new(DevChainConfig { genesis_timestamp, accounts: 12, ..DevChainConfig::default() });
        let mut traffic = Traffic::new(chain.clone(), 7);
        traffic.deploy().unwrap();
        traffic.history(&plan).unwrap();
        chain
    });
    DevNode::serve(made.await.unwrap()).await
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn amount(value: &Value) -> U256 {
    value.as_str().unwrap().parse().unwrap()
}

/// The day of a block or transaction.
fn day_of(entry: &Value) -> String {
    entry["timestamp"].as_str().unwrap()[..10].to_owned()
}

/// What a day has to have.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    blocks: u64,
    transactions: u64,
    active: BTreeSet<String>,
    created_by_transactions: u64,
    created_inside_calls: u64,
    gas_used: U256,
    fees: U256,
    burnt_fees: U256,
}

async fn sums(explorer: &TestExplorer) -> BTreeMap<String, Sums> {
    let mut days: BTreeMap<String, Sums> = BTreeMap::new();
    for block in read_list(explorer.client(), "/api/v1/blocks?", "blocks").await {
        let day = days.entry(day_of(&block)).or_default();
        day.blocks += 1;
        day.gas_used += amount(&block["gasUsed"]);
        let base_fee = block["baseFeePerGas"].as_str().map_or(U256::ZERO, |fee| fee.parse().unwrap());
        day.burnt_fees += amount(&block["gasUsed"]) * base_fee;
    }
    for tx in read_list(explorer.client(), "/api/v1/transactions?", "transactions").await {
        let day = days.get_mut(&day_of(&tx)).unwrap();
        day.transactions += 1;
        day.fees += amount(&tx["gasUsed"]) * amount(&tx["gasPrice"]);
        let parties = [&tx["fromAddress"], &tx["toAddress"]].into_iter().filter_map(Value::as_str);
        // A creation has no receiver.
        day.active.extend(parties.filter(|party| !party.is_empty()).map(str::to_owned));
        day.created_by_transactions += u64::from(!tx["contractAddress"].is_null());
    }
    for call in read_list(explorer.client(), "/api/v1/internal-transactions?", "internalTransactions").await {
        let is_creation = call["type"].as_str().unwrap().starts_with("create") && call["error"].is_null();
        days.get_mut(&day_of(&call)).unwrap().created_inside_calls += u64::from(is_creation);
    }
    days
}

/// Compares the days with the sums over the blocks that the explorer has. Returns both.
async fn compare(explorer: &TestExplorer) -> (Vec<Value>, BTreeMap<String, Sums>) {
    let expected = sums(explorer).await;
    assert!(expected.len() > 3, "{expected:?}");
    let mut list = explorer.json("/api/v1/stats/days?days=366").await;
    let Value::Array(days) = list["days"].take() else { panic!("{list}") };
    let none = Sums::default();
    for day in &days {
        let sums = expected.get(&day["start"].as_str().unwrap()[..10]).unwrap_or(&none);
        let found = (number(&day["blocks"]), number(&day["transactions"]), number(&day["activeAddresses"]));
        assert_eq!(found, (sums.blocks, sums.transactions, sums.active.len() as u64), "{day}");
        let found = ["gasUsed", "fees", "burntFees"].map(|name| amount(&day[name]));
        assert_eq!(found, [sums.gas_used, sums.fees, sums.burnt_fees], "{day}");
        let known = sums.created_by_transactions..=sums.created_by_transactions + sums.created_inside_calls;
        let contracts = number(&day["newContracts"]);
        assert!(known.contains(&contracts), "{day}");
        assert!(number(&day["untracedBlocks"]) > 0 || contracts == *known.end(), "{day}");
    }
    let blocks = days.iter().map(|day| number(&day["blocks"])).sum::<u64>();
    assert_eq!(blocks, expected.values().map(|day| day.blocks).sum::<u64>(), "each block is in a day");
    let stats = explorer.json("/api/v1/stats").await;
    for (total, name) in
        [("totalTransactions", "transactions"), ("totalTokens", "newTokens"), ("untracedBlocks", "untracedBlocks")]
    {
        let sum: u64 = days.iter().map(|day| number(&day[name])).sum();
        assert_eq!(sum, number(&stats[total]), "{name}");
    }
    assert_eq!((&list["firstIndexedBlock"], &list["complete"]), (&json!(0), &json!(true)));
    (days, expected)
}

#[tokio::test]
async fn days_add_up_to_the_blocks_and_transactions_of_the_chain_and_follow_a_reorg() {
    let node = slow_chain().await;
    let explorer = Launch::run(&node.url()).argument("--anonymous-requests-per-minute", 0).start().await;
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, node.chain.head().number).await;
    let (days, expected) = compare(&explorer).await;
    assert!(expected.values().any(|day| day.created_inside_calls > 0), "factories create pools");
    let repeated: usize = expected.values().map(|day| day.active.len()).sum();
    let distinct: BTreeSet<&String> = expected.values().flat_map(|day| &day.active).collect();
    assert!(repeated > distinct.len(), "some addresses are active on several days");

    let last = explorer.json("/api/v1/stats/days?days=2").await;
    assert_eq!(last["days"].as_array().unwrap(), &days[days.len() - 2..]);
    for invalid in ["0", "-1", "x", "1.5"] {
        let answer = explorer.get(&format!("/api/v1/stats/days?days={invalid}")).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("days")), "{invalid}");
    }
    let page = explorer.get("/charts?days=365").await.text;
    for day in expected.keys() {
        assert_eq!(page.matches(&format!("aria-label=\"{day}: ")).count(), 12, "{day} has a bar in each chart");
    }
    for label in ["Active addresses", "New contracts", "Gas used", "Fees", "Burnt fees"] {
        let cells = page.matches(&format!("data-label=\"{label}\"")).count();
        assert_eq!(cells, days.len(), "{label}");
    }
    let home = explorer.get("/").await.text;
    let head = node.chain.head().number;
    assert!(home.contains(&format!("aria-label=\"Block {head}: ")), "bars of the last block have a label");

    // Some days: a block takes hours.
    node.chain.reorg(10, 11, ReorgedTransactions::Replay).unwrap();
    node.wait_for(&explorer).await;
    wait_for_traces(&explorer, 0, node.chain.head().number).await;
    let (after, _) = compare(&explorer).await;
    assert_ne!(after, days);
}
