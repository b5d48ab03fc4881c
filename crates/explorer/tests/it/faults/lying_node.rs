//! A node whose answers fit together and are not true: nothing of it gets into the index, and what an older version let in
//! is found and mended.

use std::{
    ops::RangeInclusive,
    path::Path,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering},
};

use domain::{BlockChanges, BlockId, BlockRange, Order, PageRequest, TransactionFilter, TransferFilter, U256};
use serde_json::{Value, json};
use store::{ChainReader, ChainWriter, Undo};
use store_embedded::{EmbeddedStore, StoreOptions};

use crate::support::{
    Anvil, DevNode, Launch, TestExplorer, ask_node, eventually,
    explorer::DataFolder,
    lying_proxy::{Answer, KEY, LyingNode},
    walk,
};

/// Blocks without what happened in them, as a node gave them for a while.
fn empty(blocks: RangeInclusive<u64>) -> impl Fn(u64, &mut Answer<'_>) + Send + Sync {
    move |number, answer| {
        if blocks.contains(&number) {
            match answer {
                Answer::Block(block) => block["transactions"] = json!([]),
                Answer::Receipts(receipts) => **receipts = json!([]),
            }
        }
    }
}

/// The data of every log, as an amount of a transfer, is another.
fn other_amounts(number: u64, answer: &mut Answer<'_>) {
    if let (1.., Answer::Receipts(receipts)) = (number, answer) {
        for receipt in receipts.as_array_mut().unwrap() {
            for log in receipt["logs"].as_array_mut().unwrap() {
                let data = log["data"].as_str().unwrap();
                log["data"] = json!(data.replace('1', "2").replace('0', "1").replacen("1x", "0x", 1));
            }
        }
    }
}

async fn wait_for_refusal(explorer: &TestExplorer, check: &str) -> u64 {
    eventually(&format!("a block refused for its {check}"), async || {
        let health = explorer.json("/health").await;
        let refused = &health["refusedBlock"];
        (refused["check"] == check && health["status"] != "ok").then(|| refused["number"].as_u64().unwrap())
    })
    .await
}

async fn assert_equals_node(explorer: &TestExplorer, node: &DevNode) {
    node.wait_for(explorer).await;
    let expected = ask_node(&node.rpc, 0, []).await;
    walk(explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
    assert_eq!(explorer.json("/health").await["refusedBlock"], Value::Null);
}

#[tokio::test]
async fn blocks_served_empty_are_not_indexed_and_come_once_the_node_is_honest() {
    let (node, _) = DevNode::with_traffic(200).await;
    let liar = LyingNode::before(&node.url(), empty(6..=9)).await;
    let explorer = TestExplorer::start(&liar.url()).await;
    let refused = wait_for_refusal(&explorer, "transactions root").await;
    assert!((6..=9).contains(&refused), "{refused}");
    let log = explorer.log();
    let host = liar.host();
    assert!(log.contains(&format!("of {host} is invalid: transactions root")), "{log}");
    assert!(!log.contains(KEY), "{log}");
    let tip = explorer.json("/health").await["tip"]["number"].as_u64().unwrap_or_default();
    assert!(tip < 6, "block {tip} is indexed, and 6 was never served");
    liar.repent();
    assert_equals_node(&explorer, &node).await;
}

#[tokio::test]
async fn changed_logs_are_not_indexed() {
    let (node, _) = DevNode::with_traffic(120).await;
    for options in [&["--verify-blocks", "full"][..], &[]] {
        let liar = LyingNode::before(&node.url(), other_amounts).await;
        let launch = Launch::run(&liar.url());
        let launch = options.chunks(2).fold(launch, |launch, option| launch.argument(option[0], option[1]));
        let explorer = launch.start().await;
        wait_for_refusal(&explorer, "receipts root").await;
        liar.repent();
        assert_equals_node(&explorer, &node).await;
    }
}

#[tokio::test]
async fn what_one_node_is_refused_for_is_asked_of_the_next() {
    let (node, _) = DevNode::with_traffic(120).await;
    let liar = LyingNode::before(&node.url(), empty(3..=u64::MAX)).await;
    let explorer = Launch::run(&liar.url()).argument("--rpc", node.url()).start().await;
    assert_equals_node(&explorer, &node).await;
    assert!(explorer.log().contains("is invalid: transactions root"), "{}", explorer.log());
}

#[tokio::test]
async fn the_blocks_of_a_second_node_are_proven_to_the_full_by_themselves() {
    let (mut node, mut traffic) = DevNode::with_traffic(120).await;
    let behind = DevNode::serve(node.chain.clone()).await;
    let liar = LyingNode::before(&behind.url(), other_amounts).await;
    let explorer = Launch::run(&node.url()).argument("--rpc", liar.url()).start().await;
    node.wait_for(&explorer).await;
    node.go_down().await;
    // The amounts of transfers are changed, and only the receipts root tells.
    loop {
        traffic.step().unwrap();
        node.chain.mine(None);
        let newest = node.chain.block(node.chain.head().number).unwrap();
        if newest.transactions.iter().any(|tx| tx.receipt.logs().iter().any(|log| !log.data.data.is_empty())) {
            break;
        }
    }
    wait_for_refusal(&explorer, "receipts root").await;
    node.come_back().await;
    assert_equals_node(&explorer, &node).await;
}

#[tokio::test]
async fn every_type_of_transaction_of_anvil_is_taken_and_all_but_the_root_of_blobs_is_proven() {
    let anvil = Anvil::with(&["--hardfork", "prague"]).await;
    let accounts = anvil.accounts().await;
    let (from, to) = (&accounts[0], &accounts[1]);
    let key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    let send = ["send", "--private-key", key, "--gas-limit", "200000"];
    let blob = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(blob.path(), b"a blob").unwrap();
    let path = blob.path().to_str().unwrap();
    for more in [
        vec!["--legacy", "--value", "5", to],
        vec!["--create", "0x602a60005260036002600160206000a300"],
        vec!["--blob", "--eip4844", "--path", path, to],
        vec!["--auth", to, to],
    ] {
        let hash = anvil.cast(&[send.as_slice(), &["--async"], &more].concat()).await;
        anvil.receipt(hash.trim()).await;
    }
    let access = json!([{"address": to, "storageKeys": [format!("{:#066x}", 7)]}]);
    anvil.send(json!({"from": from, "to": to, "type": "0x1", "gasPrice": "0xb2d05e00", "accessList": access})).await;
    // Of an account whose key anvil does not have.
    let stranger = "0x00000000000000000000000000000000000000aa";
    anvil.rpc.call("anvil_impersonateAccount", json!([stranger])).await;
    anvil.rpc.call("anvil_setBalance", json!([stranger, "0xde0b6b3a7640000"])).await;
    anvil.send(json!({"from": stranger, "to": to, "value": "0x1"})).await;

    let explorer = Launch::run(anvil.url()).argument("--verify-blocks", "full").start().await;
    anvil.wait_for(&explorer).await;
    assert_eq!(explorer.json("/api/v1/stats").await["totalTransactions"], 6);
    let log = explorer.log();
    assert!(!log.contains("invalid"), "{log}");
    let unproven: Vec<_> = log.lines().filter(|line| line.contains("cannot be proven")).collect();
    assert!(unproven.len() == 1 && unproven[0].contains("sidecars"), "{log}");
}

/// Writes blocks again as an older version might have, which believed everything.
async fn spoil(data: &Path, from: u64, undo: fn(u64) -> Undo, mut change: impl FnMut(&mut BlockChanges)) {
    let store = EmbeddedStore::open(data, StoreOptions::default()).unwrap();
    let (reader, mut writer) = (store.reader(), store.writer());
    let tip = writer.tip().await.unwrap().unwrap();
    let all = PageRequest { offset: 0, limit: 10_000, order: Order::OldestFirst };
    let mut blocks = Vec::new();
    for number in from..=tip.number {
        let range = BlockRange::only(number);
        let transactions = TransactionFilter { blocks: range, ..TransactionFilter::default() };
        let transfers = TransferFilter { blocks: range, ..TransferFilter::default() };
        let mut changes = BlockChanges {
            block: reader.find_block(BlockId::Number(number)).await.unwrap().unwrap(),
            transactions: reader.list_transactions(&transactions, all).await.unwrap().items,
            involved: Vec::new(),
            transfers: reader.list_transfers(&transfers, all).await.unwrap().items.iter().map(|it| it.event).collect(),
            touched_holders: Vec::new(),
            trades: Vec::new(),
            pools: Vec::new(),
            inner_creations: None,
        };
        change(&mut changes);
        blocks.push(changes);
    }
    writer.revert_to(from - 1).await.unwrap();
    writer.commit(blocks, undo(from - 1)).await.unwrap();
    store.sync().unwrap();
}

/// Four empty blocks, and one transfer of another amount later.
fn lies(missing: Arc<AtomicU64>) -> impl FnMut(&mut BlockChanges) {
    let mut changed = false;
    move |changes| {
        if (5..=8).contains(&changes.block.number) {
            missing.fetch_add(changes.transactions.len() as u64, Ordering::SeqCst);
            changes.block.tx_count = 0;
            changes.transactions.clear();
            changes.transfers.clear();
        } else if let Some(transfer) = changes.transfers.first_mut().filter(|_| !changed && changes.block.number > 12) {
            transfer.value += U256::from(1);
            changed = true;
        }
    }
}

/// Runs `explorer check` to its end: exit code and what it said.
async fn check(data: &DataFolder, arguments: &[&str]) -> (i32, String) {
    let launch = Launch::bare(["check"].iter().chain(arguments).copied()).on(data);
    let mut process = launch.spawn();
    let status = process.ended().await;
    (status.code().unwrap(), process.stdout() + &process.stderr())
}

#[tokio::test]
async fn lies_that_were_indexed_are_found_and_mended() {
    let (node, _) = DevNode::with_traffic(200).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let (_, data) = explorer.stop().await;
    let url = node.url();
    let all_well = check(&data, &["--node", "--rpc", &url]).await;
    assert!(all_well.0 == 0 && all_well.1.contains("are what the node says"), "{all_well:?}");

    let missing = Arc::new(AtomicU64::new(0));
    spoil(data.path(), 5, |down_to| Undo::Keep { down_to }, lies(Arc::clone(&missing))).await;
    let missing = missing.load(Ordering::SeqCst);
    assert!(missing > 0);
    // The blocks form a chain all the same: only the node tells.
    assert_eq!(check(&data, &[]).await.0, 0);
    let (code, said) = check(&data, &["--node", "--rpc", &url]).await;
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(&format!("Blocks 5 to 8 (4 blocks): {missing} transactions are missing")), "{said}");
    assert!(said.contains("the transfer of log"), "{said}");
    let (code, said) = check(&data, &["--node", "--rpc", &url, "--from", "1", "--to", "4"]).await;
    assert_eq!(code, 0, "{said}");

    let (code, said) = check(&data, &["--node", "--rpc", &url, "--mend"]).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("Indexing again from block 5 on.") && said.contains("Mended"), "{said}");
    let explorer = TestExplorer::start_on(&url, &data).await;
    assert_equals_node(&explorer, &node).await;
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_said_with_the_way_out() {
    let (node, _) = DevNode::with_traffic(120).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let (_, data) = explorer.stop().await;
    spoil(data.path(), 5, |_| Undo::Discard, lies(Arc::default())).await;
    let (code, said) = check(&data, &["--node", "--rpc", &node.url(), "--mend"]).await;
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("Block 5 cannot be reverted") && said.contains("--data NEW"), "{said}");

    // Nor is anything compared with a node of another chain, or with one that lies itself.
    let other = DevNode::with(devchain::DevChainConfig { chain_id: 999, ..Default::default() }).await;
    let (code, said) = check(&data, &["--node", "--rpc", &other.url()]).await;
    assert!(code == 1 && said.contains("another chain"), "{code} {said}");
    let liar = LyingNode::before(&node.url(), empty(2..=2)).await;
    let (code, said) = check(&data, &["--node", "--rpc", &liar.url(), "--to", "4"]).await;
    assert!(code == 1 && said.contains("block 2 of"), "{code} {said}");
    let (code, said) = check(&data, &["--node"]).await;
    assert!(code == 1 && said.contains("--rpc"), "{code} {said}");
}
