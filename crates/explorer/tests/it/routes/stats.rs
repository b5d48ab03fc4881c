use serde_json::json;

use crate::support::{Anvil, DevNode, Fixture, TestExplorer, eventually, expected_state};

#[tokio::test]
async fn the_stats_of_an_empty_chain_are_zero_and_its_gas_price_is_unknown() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let expected = json!({
        "latestBlock": 0, "totalTransactions": 0, "totalTokens": 0, "untracedBlocks": 0, "internalTransactionsFrom": 0,
        "internalTransactionsTo": 0, "avgGasPrice": "0", "unknownFields": ["avgGasPrice"],
        "firstIndexedBlock": 0,
        "complete": true,
    });
    eventually("the trace", async || (explorer.json("/api/v1/stats").await == expected).then_some(())).await;
    let page = explorer.get("/").await.text;
    assert!(
        page.contains("<div><span class=\"muted\">Mean gas price</span><strong class=\"muted\">unknown</strong></div>"),
        "{page}"
    );
}

#[tokio::test]
async fn stats_count_all_transactions_and_average_the_effective_gas_price() {
    let fixture = Fixture::shared().await;
    let head = fixture.node.chain.head().number;
    let blocks = (0..=head).map(|number| fixture.node.chain.block(number).unwrap());
    let prices: Vec<u128> = blocks
        .flat_map(|block| block.transactions.iter().map(|tx| tx.effective_gas_price).collect::<Vec<_>>())
        .collect();
    let count = u128::try_from(prices.len()).unwrap();
    let expected = json!({
        "latestBlock": head,
        "totalTransactions": prices.len(),
        "totalTokens": fixture.explorer.json("/api/v1/tokens").await["total"],
        "untracedBlocks": expected_state(&fixture.node.rpc, 0, []).await.stats["untracedBlocks"],
        "internalTransactionsFrom": 0,
        "internalTransactionsTo": head,
        "avgGasPrice": (prices.iter().sum::<u128>() / count).to_string(),
        "unknownFields": [],
        "firstIndexedBlock": 0,
        "complete": true,
    });
    assert_eq!(fixture.explorer.json("/api/v1/stats").await, expected);
}

#[tokio::test]
async fn gas_prices_are_quartiles_of_what_was_paid() {
    let fixture = Fixture::shared().await;
    let explorer = &fixture.explorer;
    let list = |path: &'static str, name: &'static str| async move {
        explorer.json(path).await[name].as_array().unwrap().clone()
    };
    let base_fees: std::collections::HashMap<u64, u128> = list("/api/v1/blocks?limit=20", "blocks")
        .await
        .iter()
        .map(|block| (block["number"].as_u64().unwrap(), block["baseFeePerGas"].as_str().unwrap().parse().unwrap()))
        .collect();
    let mut fees = Vec::new();
    for page in ["/api/v1/transactions?limit=100", "/api/v1/transactions?limit=100&page=2"] {
        for tx in list(page, "transactions").await {
            let base_fee = base_fees[&tx["blockNumber"].as_u64().unwrap()];
            fees.push(tx["gasPrice"].as_str().unwrap().parse::<u128>().unwrap() - base_fee);
        }
    }
    fees.sort_unstable();
    let at = |quarters: usize| json!(fees[(fees.len() - 1) * quarters / 4].to_string());
    let gas = explorer.json("/api/v1/stats/gas").await;
    let found = (&gas["lowPriorityFee"], &gas["medianPriorityFee"], &gas["highPriorityFee"], &gas["transactions"]);
    assert_eq!(found, (&at(1), &at(2), &at(3), &json!(fees.len())));
    let page = explorer.get("/gas").await.text;
    assert!(page.contains("Base fee") && page.contains("Median"), "{page}");
}

#[tokio::test]
async fn a_chain_without_base_fees_has_no_chart_of_them() {
    let anvil = Anvil::with(&["--hardfork", "berlin"]).await;
    anvil.mine(3).await;
    let explorer = TestExplorer::start(anvil.url()).await;
    anvil.wait_for(&explorer).await;
    assert_eq!(explorer.json("/api/v1/blocks/2").await["baseFeePerGas"], json!(null));
    let page = explorer.get("/gas").await.text;
    assert!(page.contains("Gas used of the limit") && page.contains("This block has no base fee."), "{page}");
    // The label above that sentence, and no chart.
    assert_eq!(page.matches("Base fee").count(), 1, "{page}");
}
