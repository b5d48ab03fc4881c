use alloy_primitives::{Bytes, U256, hex};
use alloy_sol_types::{Revert, SolError};
use serde_json::json;

use crate::node::{Node, ether, word};

/// Creation code that reverts with the given bytes.
fn reverting(output: &[u8]) -> Bytes {
    let length = u8::try_from(output.len()).unwrap();
    let mut code = vec![0x60, length, 0x60, 12, 0x60, 0, 0x39, 0x60, length, 0x60, 0, 0xfd];
    code.extend_from_slice(output);
    code.into()
}

/// Creation code that returns the top of the stack after these instructions.
fn returning(instructions: &[u8]) -> Bytes {
    let mut code = instructions.to_vec();
    code.extend_from_slice(&hex!("60005260206000f3"));
    code.into()
}

#[tokio::test]
async fn a_call_sees_the_requested_block() {
    let node = Node::start().await;
    for _ in 0..4 {
        node.chain.mine(None);
    }
    // NUMBER
    let call = json!({"data": returning(&[0x43])});
    let at_two: U256 = node.request_as("eth_call", json!([call, "0x2"])).await;
    assert_eq!(at_two, U256::from(2));
    // BLOCKHASH of block 1
    let call = json!({"data": returning(&[0x60, 0x01, 0x40])});
    let hash = node.request("eth_call", json!([call, "latest"])).await;
    assert_eq!(hash, json!(node.full_block(1).await.header.hash));
    // CHAINID
    let call = json!({"input": returning(&[0x46])});
    let chain_id: U256 = node.request_as("eth_call", json!([call])).await;
    assert_eq!(chain_id, U256::from(31_337));
}

#[tokio::test]
async fn a_revert_has_error_code_three_and_its_data() {
    let node = Node::start().await;
    let output = Revert::from("too late").abi_encode();
    for method in ["eth_call", "eth_estimateGas"] {
        let error = node.error(method, json!([{"data": reverting(&output)}])).await;
        assert_eq!(error["code"], 3);
        assert_eq!(error["message"], "execution reverted: too late");
        assert_eq!(error["data"], hex::encode_prefixed(&output));
    }
    let silent = node.error("eth_call", json!([{"data": reverting(&[])}])).await;
    assert_eq!(silent["message"], "execution reverted");
    assert_eq!(silent["data"], "0x");
}

#[tokio::test]
async fn an_endless_call_stops_at_the_gas_cap() {
    let node = Node::start().await;
    // JUMPDEST, PUSH1 0, JUMP
    let error = node.error("eth_call", json!([{"data": "0x5b600056", "gas": "0xffffffffffff"}])).await;
    assert_eq!(error["code"], -32000);
    assert!(error["message"].as_str().unwrap().contains("OutOfGas"));
}

#[tokio::test]
async fn a_call_cannot_spend_what_the_caller_does_not_have() {
    let node = Node::start().await;
    let call = json!({"from": node.account(0), "to": node.account(1), "value": ether(20_000)});
    let error = node.error("eth_call", json!([call, "latest"])).await;
    assert_eq!(error["code"], -32000);
}

#[tokio::test]
async fn an_estimate_is_the_smallest_sufficient_gas_limit() {
    let node = Node::start().await;
    let payment = json!({"from": node.account(0), "to": node.account(1), "value": "0x1"});
    assert_eq!(node.request("eth_estimateGas", json!([payment])).await, "0x5208");
    let contract = node.create_keeper(0);
    let call = json!({"from": node.account(0), "to": contract, "data": word(3)});
    let estimate: alloy_primitives::U64 = node.request_as("eth_estimateGas", json!([call])).await;
    let estimate: u64 = estimate.to();
    for (gas, succeeds) in [(estimate, true), (estimate - 1, false)] {
        let draft = node.chain.draft(0).unwrap().to(contract).data(word(3));
        let hash = draft.gas_limit(gas).submit().unwrap();
        let fork = node.chain.head();
        node.chain.mine(None);
        let inclusion = node.chain.receipt(hash).unwrap();
        assert_eq!(inclusion.transaction().succeeded(), succeeds, "with {gas} gas");
        node.chain.reorg(1, 0, devchain::ReorgedTransactions::Drop).unwrap();
        assert_eq!(node.chain.head(), fork);
    }
}

#[tokio::test]
async fn a_call_does_not_change_the_state() {
    let node = Node::start().await;
    let contract = node.create_keeper(0);
    let root = node.full_block(1).await.header.state_root;
    node.request("eth_call", json!([{"to": contract, "data": word(3)}, "latest"])).await;
    assert_eq!(node.chain.storage(contract, U256::ZERO), U256::ZERO);
    node.chain.mine(None);
    assert_eq!(node.full_block(2).await.header.state_root, root);
}

#[tokio::test]
async fn state_overrides_are_rejected_rather_than_ignored() {
    let node = Node::start().await;
    let overrides = json!({node.account(0).to_string(): {"balance": "0x0"}});
    let error = node.error("eth_call", json!([{"to": node.account(1)}, "latest", overrides])).await;
    assert_eq!(error["code"], -32602);
    node.request("eth_call", json!([{"to": node.account(1)}, "latest", {}])).await;
}
