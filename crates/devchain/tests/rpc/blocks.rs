use alloy_consensus::{BlockHeader, TxReceipt, proofs};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{B256, Bloom, U256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY, TrieAccount, root::state_root_unhashed};
use devchain::TransactionType;
use serde_json::{Value, json};

use crate::node::{Node, ether, keeper, word};

/// A block with logs and with every type of transaction, one of which fails.
async fn mixed_block(node: &Node) -> u64 {
    let contract = node.create_keeper(0);
    let chain = &node.chain;
    chain.draft(0).unwrap().to(contract).data(word(7)).submit().unwrap();
    let legacy = chain.draft(1).unwrap().tx_type(TransactionType::Legacy);
    legacy.to(node.account(2)).value(ether(1)).submit().unwrap();
    let list = AccessList(vec![AccessListItem { address: contract, storage_keys: vec![B256::ZERO] }]);
    let listed = chain.draft(2).unwrap().tx_type(TransactionType::AccessList(list));
    listed.to(contract).data(word(8)).submit().unwrap();
    chain.draft(3).unwrap().data(keeper()).submit().unwrap();
    chain.draft(3).unwrap().to(contract).submit().unwrap();
    let authorization = chain.authorize(4, contract).unwrap();
    let set_code = chain.draft(5).unwrap().tx_type(TransactionType::SetCode(vec![authorization]));
    set_code.to(node.account(4)).data(word(9)).submit().unwrap();
    chain.mine(None).number
}

#[tokio::test]
async fn block_content_matches_the_roots_in_the_header() {
    let node = Node::start().await;
    let number = mixed_block(&node).await;
    let block = node.full_block(number).await;
    let receipts = node.receipts(number).await;

    assert_eq!(block.header.inner.hash_slow(), block.header.hash);
    assert_eq!(block.header.parent_hash, node.full_block(number - 1).await.header.hash);
    let transactions: Vec<_> = block
        .transactions
        .as_transactions()
        .unwrap()
        .iter()
        .map(|transaction| transaction.inner.inner().clone())
        .collect();
    assert_eq!(transactions.len(), 6);
    assert_eq!(proofs::calculate_transaction_root(&transactions), block.header.transactions_root);
    let consensus: Vec<_> = receipts.iter().map(|receipt| receipt.inner.clone().into_primitives_receipt()).collect();
    assert_eq!(proofs::calculate_receipt_root(&consensus), block.header.receipts_root);
    let bloom = consensus.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom());
    assert_eq!(bloom, block.header.logs_bloom);
    assert_ne!(bloom, Bloom::ZERO);
    let statuses: Vec<bool> = receipts.iter().map(|receipt| receipt.status()).collect();
    assert_eq!(statuses, [true, true, true, true, false, true]);
    let used: u64 = receipts.iter().map(|receipt| receipt.gas_used).sum();
    assert_eq!(used, block.header.gas_used());
}

#[tokio::test]
async fn the_state_root_matches_the_accounts() {
    let node = Node::start().await;
    let fresh = alloy_primitives::Address::repeat_byte(0x77);
    for block in 0..3 {
        node.pay(block, fresh, ether(2));
        node.pay(block + 3, node.account(8), U256::ZERO);
    }
    let mut addresses: Vec<_> = node.chain.accounts().iter().map(|one| one.address()).collect();
    addresses.extend_from_slice(node.chain.coinbases());
    addresses.push(fresh);
    let accounts = addresses.into_iter().map(|address| {
        let account = TrieAccount {
            nonce: node.chain.nonce(address),
            balance: node.chain.balance(address),
            storage_root: EMPTY_ROOT_HASH,
            code_hash: KECCAK_EMPTY,
        };
        (address, account)
    });
    let head = node.full_block(node.chain.head().number).await;
    assert_eq!(head.header.state_root, state_root_unhashed(accounts));
}

#[tokio::test]
async fn a_block_has_all_fields_of_prague() {
    let node = Node::start().await;
    node.chain.mine(None);
    let block = node.request("eth_getBlockByNumber", json!(["latest", false])).await;
    for field in [
        "withdrawalsRoot",
        "withdrawals",
        "blobGasUsed",
        "excessBlobGas",
        "parentBeaconBlockRoot",
        "requestsHash",
        "baseFeePerGas",
        "mixHash",
        "size",
        "uncles",
        "logsBloom",
        "extraData",
    ] {
        assert_ne!(block[field], Value::Null, "{field}");
    }
    assert_eq!(block["difficulty"], "0x0");
    assert_eq!(block["number"], "0x1");
}

#[tokio::test]
async fn a_block_is_found_by_number_tag_and_hash() {
    let node = Node::start().await;
    for _ in 0..70 {
        node.chain.mine(None);
    }
    let number = |tag: Value| {
        let node = &node;
        async move { node.request("eth_getBlockByNumber", json!([tag, false])).await["number"].clone() }
    };
    assert_eq!(number(json!("latest")).await, "0x46");
    assert_eq!(number(json!("pending")).await, "0x46");
    assert_eq!(number(json!("earliest")).await, "0x0");
    assert_eq!(number(json!("safe")).await, "0x26");
    assert_eq!(number(json!("finalized")).await, "0x6");
    assert_eq!(number(json!("0x47")).await, Value::Null);
    let hash = node.chain.head().hash;
    let by_hash = node.request("eth_getBlockByHash", json!([hash, false])).await;
    let by_number = node.request("eth_getBlockByNumber", json!(["0x46", false])).await;
    assert_eq!(by_hash, by_number);
    let unknown = node.request("eth_getBlockByHash", json!([B256::repeat_byte(1), true])).await;
    assert_eq!(unknown, Value::Null);
}

#[tokio::test]
async fn receipts_are_found_by_number_tag_and_hash() {
    let node = Node::start().await;
    node.pay(0, node.account(1), ether(1));
    let hash = node.chain.head().hash;
    let by_number = node.request("eth_getBlockReceipts", json!(["0x1"])).await;
    assert_eq!(by_number.as_array().unwrap().len(), 1);
    for id in [json!("latest"), json!(hash), json!({"blockHash": hash}), json!({"blockNumber": "0x1"})] {
        assert_eq!(node.request("eth_getBlockReceipts", json!([id])).await, by_number);
    }
    assert_eq!(node.request("eth_getBlockReceipts", json!(["0x9"])).await, Value::Null);
    assert_eq!(node.request("eth_getBlockReceipts", json!(["0x0"])).await, json!([]));
}

#[tokio::test]
async fn blocks_older_than_the_state_history_are_still_served() {
    let node = Node::with(devchain::DevChainConfig { history: 128, ..Default::default() }).await;
    node.pay(0, node.account(1), ether(1));
    let before = node.request("eth_getBlockByNumber", json!(["0x1", true])).await;
    for _ in 0..200 {
        node.chain.mine(None);
    }
    assert_eq!(node.request("eth_getBlockByNumber", json!(["0x1", true])).await, before);
}
