//! Balances of many accounts in one request to a node.

use alloy_primitives::{Address, U256};
use devchain::{DevChain, DevChainConfig};
use node::{NodeClient, NodeConfig};
use serde_json::json;

use crate::support::{
    anvil::Anvil,
    faulty_node::{FaultyNode, Script},
};

fn client(url: &str) -> NodeClient {
    NodeClient::new(NodeConfig::new(vec![url.parse().unwrap()])).unwrap()
}

/// Accounts without a balance.
fn empty(count: u64) -> impl Iterator<Item = Address> {
    (0..count).map(|number| Address::left_padding_from(&(0xe0_0000 + number).to_be_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn balances_of_a_block_are_read_by_one_request() {
    let chain = DevChain::new(DevChainConfig::default());
    let node = FaultyNode::start(&chain, 1, Script::default()).await;
    let client = client(&node.url());
    let (poor, before) = (Address::repeat_byte(7), client.head().await.unwrap());
    chain.send(0, alloy_primitives::TxKind::Call(poor), U256::from(5), Vec::<u8>::new()).unwrap();
    chain.mine(None);
    let after = client.head().await.unwrap();
    let rich = chain.accounts().iter().map(|account| account.address());
    let addresses: Vec<Address> = rich.chain([poor]).chain(empty(1_600)).collect();
    let requests = || node.request_counts().methods;

    let counted = requests();
    let (old, new) =
        (client.balances(&addresses, before).await.unwrap(), client.balances(&addresses, after).await.unwrap());
    let of = |method: &str| {
        requests().get(method).copied().unwrap_or_default() - counted.get(method).copied().unwrap_or_default()
    };
    assert_eq!((of("eth_call"), of("eth_getBalance")), (4, 0), "1,535 accounts in each request");
    for (place, address) in addresses.iter().enumerate().take(20) {
        for (block, balances) in [(before, &old), (after, &new)] {
            assert_eq!(balances[place], client.account(*address, block).await.unwrap().balance, "{address}");
        }
    }
    let place = addresses.iter().position(|address| *address == poor).unwrap();
    assert_eq!((old[place], new[place]), (U256::ZERO, U256::from(5)));
    assert!(old[place + 1..].iter().all(U256::is_zero) && old.len() == addresses.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn anvil_reads_them_too_and_large_ones_are_read_alone() {
    let anvil = Anvil::start().await;
    let balances = [U256::from(1), U256::from(u128::MAX - 1), U256::from(u128::MAX), U256::MAX, U256::ZERO];
    let addresses: Vec<Address> = (1..=5).map(|byte| Address::repeat_byte(0xa0 + byte)).collect();
    for (address, balance) in addresses.iter().zip(balances) {
        anvil.rpc.call("anvil_setBalance", json!([address, format!("{balance:#x}")])).await;
    }
    anvil.rpc.call("evm_mine", json!([])).await;
    let client = client(anvil.url());
    let head = client.head().await.unwrap();
    assert_eq!(client.balances(&addresses, head).await.unwrap(), balances);
    let many: Vec<Address> = addresses.iter().copied().chain(empty(1_530)).collect();
    assert_eq!(client.balances(&many, head).await.unwrap()[..5], balances);
}
