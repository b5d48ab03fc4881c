//! Many contract calls in one request to a node.

use alloy_primitives::{Address, Bytes, TxKind, U256};
use devchain::{DevChain, DevChainConfig};
use node::{CallBlock, CallResult, ContractCall, NodeClient, NodeConfig};
use serde_json::json;

use crate::support::{
    anvil::Anvil,
    faulty_node::{FaultyNode, Script},
};

/// Returns its call data.
const ECHO: &str = "0x366000600037366000f3";
const REVERTS: &str = "0x60006000fd";
/// Returns 300 zeros, more than a packed call does.
const LONG: &str = "0x61012c6000f3";
/// Takes all gas.
const ENDLESS: &str = "0x5b600056";

/// Code that creates a contract.
fn creation(code: &str) -> Vec<u8> {
    let code = alloy_primitives::hex::decode(code).unwrap();
    let length = u8::try_from(code.len()).unwrap();
    [vec![0x60, length, 0x60, 12, 0x60, 0, 0x39, 0x60, length, 0x60, 0, 0xf3], code].concat()
}

fn client(url: &str) -> NodeClient {
    NodeClient::new(NodeConfig::new(vec![url.parse().unwrap()])).unwrap()
}

fn call(to: Address, data: &[u8]) -> ContractCall {
    ContractCall { to, data: Bytes::copy_from_slice(data) }
}

/// Calls of all contracts, and their results.
fn all_kinds([echo, reverts, long, endless]: [Address; 4]) -> (Vec<ContractCall>, Vec<CallResult>) {
    let returned = |data: &[u8]| CallResult::Returned(Bytes::copy_from_slice(data));
    let of_each = [
        (call(echo, &[7; 36]), returned(&[7; 36])),
        (call(reverts, &[1]), CallResult::Reverted),
        (call(endless, &[]), CallResult::Reverted),
        (call(Address::repeat_byte(9), &[1, 2, 3, 4]), returned(&[])),
        (call(echo, &[]), returned(&[])),
        (call(long, &[5]), returned(&[0; 300])),
        (call(echo, &[8; 256]), returned(&[8; 256])),
    ];
    of_each.into_iter().unzip()
}

fn deploy(chain: &DevChain, code: &str) -> Address {
    let creator = chain.accounts()[0].address();
    let created = creator.create(chain.next_nonce(creator));
    chain.send(0, TxKind::Create, U256::ZERO, creation(code)).unwrap();
    chain.mine(None);
    created
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_made_by_one_request() {
    let chain = DevChain::new(DevChainConfig::default());
    let contracts = [ECHO, REVERTS, LONG, ENDLESS].map(|code| deploy(&chain, code));
    let [echo, _, _, endless] = contracts;
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let client = client(&node.url());
    let requests = || node.request_counts().methods.get("eth_call").copied().unwrap_or_default();
    let (calls, expected) = all_kinds(contracts);
    let called = client.calls(calls, CallBlock::At(client.head().await.unwrap())).await.unwrap();
    assert_eq!(called.results, expected);
    assert_eq!(requests(), 2, "one for all, one for the long result");

    // Together they take all gas of the program: what is left is called alone.
    let calls = [vec![call(endless, &[]); 8], vec![call(echo, &[3; 32])]].concat();
    let expected = [vec![CallResult::Reverted; 8], vec![CallResult::Returned(Bytes::from(vec![3; 32]))]].concat();
    assert_eq!(client.calls(calls, CallBlock::Latest).await.unwrap().results, expected);

    let (many, before) = (vec![call(echo, &[4; 68]); 200], requests());
    let called = client.calls(many, CallBlock::Latest).await.unwrap();
    assert_eq!(called.results, vec![CallResult::Returned(Bytes::from(vec![4; 68])); 200]);
    assert_eq!(requests() - before, 4, "64 calls each");
}

#[tokio::test(flavor = "multi_thread")]
async fn anvil_makes_them_too() {
    let anvil = Anvil::start().await;
    let mut contracts = [Address::ZERO; 4];
    for (contract, code) in contracts.iter_mut().zip([ECHO, REVERTS, LONG, ENDLESS]) {
        let from = anvil.rpc.call("eth_accounts", json!([])).await[0].clone();
        let data = alloy_primitives::hex::encode_prefixed(creation(code));
        let receipt = anvil.send(json!({ "from": from, "data": data })).await;
        *contract = receipt["contractAddress"].as_str().unwrap().parse().unwrap();
    }
    let (calls, expected) = all_kinds(contracts);
    assert_eq!(client(anvil.url()).calls(calls, CallBlock::Latest).await.unwrap().results, expected);
}
