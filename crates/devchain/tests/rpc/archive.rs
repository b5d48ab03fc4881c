use alloy_primitives::{Bytes, TxKind, U256};
use devchain::{
    DevChain, DevChainConfig, ReorgedTransactions, TransactionType,
    traffic::{HistoryPlan, Traffic},
};
use serde_json::{Value, json};

use crate::node::ether;

const TRANSACTIONS: u64 = 200;
/// More than are kept with the shortest history.
const LATER_BLOCKS: u64 = 140;

/// A chain with all kinds of transactions, followed by empty blocks, and the number of the last block that is not empty.
fn chain_with(history: usize) -> (DevChain, u64) {
    let plan = HistoryPlan { transactions: TRANSACTIONS, end: 1_800_000_000, block_seconds: 3, days: 0 };
    let genesis_timestamp = plan.genesis_timestamp();
    let chain = DevChain::new(DevChainConfig { history, genesis_timestamp, accounts: 12, ..DevChainConfig::default() });
    let mut traffic = Traffic::new(chain.clone(), 7);
    let contracts = traffic.deploy().unwrap().clone();
    traffic.history(&plan).unwrap();
    let authorizations = vec![chain.authorize(1, contracts.counter).unwrap()];
    let delegating = chain.draft(0).unwrap().tx_type(TransactionType::SetCode(authorizations));
    delegating.to(chain.accounts()[1].address()).value(ether(1)).submit().unwrap();
    // Reverts, so that the receipt has an address without code.
    let reverting = Bytes::from_static(&[0x60, 0, 0x60, 0, 0xfd]);
    chain.draft(2).unwrap().kind(TxKind::Create).data(reverting).gas_limit(100_000).submit().unwrap();
    let last = chain.mine(None).number;
    for _ in 0..LATER_BLOCKS {
        chain.mine(None);
    }
    (chain, last)
}

fn answer(chain: &DevChain, method: &str, params: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    String::from_utf8(chain.answer(body.to_string().as_bytes()).unwrap()).unwrap()
}

/// Every request about blocks and their transactions, up to a block of a chain.
fn requests(chain: &DevChain, last: u64) -> Vec<(&'static str, Value)> {
    let mut requests = Vec::new();
    let mut topics = Vec::new();
    for number in 0..=last {
        let block = chain.block(number).unwrap();
        let (hash, number) = (block.hash(), format!("{number:#x}"));
        requests.extend([
            ("eth_getBlockByNumber", json!([number, true])),
            ("eth_getBlockByNumber", json!([number, false])),
            ("eth_getBlockByHash", json!([hash, true])),
            ("eth_getBlockReceipts", json!([number])),
            ("eth_getBlockReceipts", json!([{"blockHash": hash}])),
            ("eth_getBlockTransactionCountByNumber", json!([number])),
            ("eth_getBlockTransactionCountByHash", json!([hash])),
            ("eth_getLogs", json!([{"blockHash": hash}])),
        ]);
        for (index, mined) in block.transactions.iter().enumerate() {
            let index = format!("{index:#x}");
            requests.extend([
                ("eth_getTransactionByHash", json!([mined.hash()])),
                ("eth_getTransactionReceipt", json!([mined.hash()])),
                ("eth_getTransactionByBlockNumberAndIndex", json!([number, index])),
                ("eth_getTransactionByBlockHashAndIndex", json!([hash, index])),
            ]);
            topics.extend(mined.receipt.logs().iter().filter_map(|log| log.topics().first().copied()));
        }
    }
    topics.sort_unstable();
    topics.dedup();
    let range = |topic: Value| json!([{"fromBlock": "0x0", "toBlock": "latest", "topics": [topic]}]);
    requests.extend(topics.into_iter().map(|topic| ("eth_getLogs", range(json!(topic)))));
    requests.push(("eth_getLogs", range(Value::Null)));
    requests.push(("eth_feeHistory", json!(["0x400", "latest", [0.0, 50.0, 100.0]])));
    requests
}

#[test]
fn archived_blocks_are_answered_with_the_same_bytes_as_those_in_memory() {
    let (archiving, last) = chain_with(0);
    let (in_memory, _) = chain_with(10_000);
    let balance =
        |chain| answer(chain, "eth_getBalance", &json!([archiving.accounts()[0].address(), format!("{last:#x}")]));
    assert!(balance(&archiving).contains("pruned") && balance(&in_memory).contains("result"));

    let requests = requests(&in_memory, last);
    for (method, params) in &requests {
        let expected = answer(&in_memory, method, params);
        assert_eq!(answer(&archiving, method, params), expected, "{method} {params}");
        assert!(!expected.contains("\"error\"") && !expected.contains("\"result\":null"), "{expected}");
    }
    let kinds = requests.iter().filter(|(method, _)| *method == "eth_getTransactionByHash");
    let kinds: Vec<String> = kinds.map(|(method, params)| answer(&archiving, method, params)).collect();
    for kind in ["0x0", "0x1", "0x2", "0x4"] {
        let wanted = format!("\"type\":\"{kind}\"");
        assert!(kinds.iter().any(|transaction| transaction.contains(&wanted)), "no transaction of type {kind}");
    }
}

#[test]
fn a_reorg_does_not_reach_archived_blocks() {
    let (chain, last) = chain_with(0);
    let requests = requests(&chain, last);
    // Except those up to the head.
    let requests = &requests[..requests.len() - 1];
    let before: Vec<String> = requests.iter().map(|(method, params)| answer(&chain, method, params)).collect();
    chain.send(0, TxKind::Call(chain.accounts()[1].address()), U256::from(1), []).unwrap();
    chain.mine(None);
    let head = chain.head().number;
    assert!(chain.reorg(head - last, 1, ReorgedTransactions::Drop).is_err());
    chain.reorg(128, 130, ReorgedTransactions::Replay).unwrap();
    assert_eq!(chain.head().number, head + 2);
    for ((method, params), before) in requests.iter().zip(before) {
        assert_eq!(answer(&chain, method, params), before, "{method} {params}");
    }
}
