use serde_json::json;

use crate::support::{DevNode, Fixture, TestExplorer, eventually, expected_state};

#[tokio::test]
async fn the_stats_of_an_empty_chain_are_zero() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let expected = json!({
        "latestBlock": 0, "totalTransactions": 0, "totalTokens": 0, "untracedBlocks": 0, "internalTransactionsFrom": 0,
        "internalTransactionsTo": 0, "avgGasPrice": "0",
        "firstIndexedBlock": 0,
        "complete": true,
    });
    eventually("the trace", async || (explorer.json("/api/v1/stats").await == expected).then_some(())).await;
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
        "firstIndexedBlock": 0,
        "complete": true,
    });
    assert_eq!(fixture.explorer.json("/api/v1/stats").await, expected);
}
