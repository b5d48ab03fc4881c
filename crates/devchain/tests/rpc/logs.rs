use alloy_primitives::{Address, B256, TxKind, U256};
use alloy_rpc_types_eth::Log;
use serde_json::json;

use crate::node::{Node, ether, word};

#[tokio::test]
async fn logs_are_found_by_block_address_and_topic() {
    let node = Node::start().await;
    let (one, other) = (node.create_keeper(0), node.create_keeper(0));
    for contract in [one, other, one] {
        node.chain.send(1, TxKind::Call(contract), U256::ZERO, word(1)).unwrap();
        node.chain.mine(None);
    }
    node.pay(0, node.account(1), ether(1));
    let topic = B256::from(U256::from(42));
    let found = async |filter| -> Vec<Log> { node.request_as("eth_getLogs", json!([filter])).await };
    let all = json!({"fromBlock": "0x0", "toBlock": "latest"});
    assert_eq!(found(all).await.len(), 3);
    let of_one = found(json!({"fromBlock": "earliest", "address": one})).await;
    assert_eq!(of_one.len(), 2);
    assert_eq!(of_one[1].block_number, Some(5));
    let two = json!({"fromBlock": "0x3", "toBlock": "0x4", "address": [one, other]});
    assert_eq!(found(two).await.len(), 2);
    let by_topic = json!({"fromBlock": "0x0", "topics": [[topic, B256::ZERO]]});
    assert_eq!(found(by_topic).await.len(), 3);
    let by_other = json!({"fromBlock": "0x0", "topics": [B256::repeat_byte(1)]});
    assert_eq!(found(by_other).await.len(), 0);
    let nobody = json!({"fromBlock": "0x0", "address": Address::repeat_byte(1)});
    assert_eq!(found(nobody).await.len(), 0);
    let hash = node.full_block(4).await.header.hash;
    let at_hash = found(json!({"blockHash": hash})).await;
    assert_eq!(at_hash[0].address(), other);
    let beyond = json!({"fromBlock": "0x0", "toBlock": "0xffffffffffffffff"});
    assert_eq!(found(beyond).await.len(), 3);
    assert_eq!(found(json!({})).await.len(), 0, "the default is the latest block");
}

#[tokio::test]
async fn an_inverted_range_and_an_unknown_block_are_errors() {
    let node = Node::start().await;
    node.chain.mine(None);
    let backwards = json!([{"fromBlock": "0x1", "toBlock": "0x0"}]);
    assert_eq!(node.error("eth_getLogs", backwards).await["code"], -32602);
    let unknown = json!([{"blockHash": B256::repeat_byte(3)}]);
    assert_eq!(node.error("eth_getLogs", unknown).await["code"], -32000);
}
