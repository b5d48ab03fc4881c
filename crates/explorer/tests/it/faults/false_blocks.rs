//! A node that serves consistent but false blocks: they are not indexed, and `explorer check` repairs those that an older
//! version indexed.

use std::{
    ops::RangeInclusive,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use domain::{BlockChanges, BlockId, BlockRange, Order, PageRequest, TransactionFilter, TransferFilter, U256};
use serde_json::{Value, json};
use store::{BlockReader, ChainWriter, TransactionReader, TransferReader, Undo};
use store_embedded::{EmbeddedStore, StoreOptions};

use crate::support::{
    Anvil, DevNode, Launch, TestExplorer, eventually, expected_state,
    explorer::DataFolder,
    read_api,
    tampering_proxy::{BlockPart, KEY, TamperingProxy},
};

/// Removes transactions and logs from these blocks.
fn remove_transactions(blocks: RangeInclusive<u64>) -> impl Fn(u64, &mut BlockPart<'_>) + Send + Sync {
    move |number, answer| {
        if blocks.contains(&number) {
            match answer {
                BlockPart::Block(block) => block["transactions"] = json!([]),
                BlockPart::Receipts(receipts) => **receipts = json!([]),
            }
        }
    }
}

/// Changes the data of every log, for example the amount of a transfer.
fn change_amounts(number: u64, answer: &mut BlockPart<'_>) {
    if let (1.., BlockPart::Receipts(receipts)) = (number, answer) {
        for receipt in receipts.as_array_mut().unwrap() {
            for log in receipt["logs"].as_array_mut().unwrap() {
                let data = log["data"].as_str().unwrap();
                log["data"] = json!(data.replace('1', "2").replace('0', "1").replacen("1x", "0x", 1));
            }
        }
    }
}

async fn wait_for_rejection(explorer: &TestExplorer, check: &str) -> u64 {
    eventually(&format!("a block rejected for its {check}"), async || {
        let health = explorer.json("/health").await;
        let rejected = &health["rejectedBlock"];
        (rejected["check"] == check && health["status"] != "ok").then(|| rejected["number"].as_u64().unwrap())
    })
    .await
}

async fn assert_equals_node(explorer: &TestExplorer, node: &DevNode) {
    node.wait_for(explorer).await;
    let expected = expected_state(&node.rpc, 0, []).await;
    read_api(explorer, expected.address_names()).await.assert_equals(&expected, "explorer and node");
    assert_eq!(explorer.json("/health").await["rejectedBlock"], Value::Null);
}

#[tokio::test]
async fn blocks_served_without_transactions_are_not_indexed_until_the_node_is_honest() {
    let (node, _) = DevNode::with_traffic_without_traces(200).await;
    let proxy = TamperingProxy::in_front_of(&node.url(), remove_transactions(6..=9)).await;
    let explorer = TestExplorer::start(&proxy.url()).await;
    let refused = wait_for_rejection(&explorer, "transactions root").await;
    assert!((6..=9).contains(&refused), "{refused}");
    explorer.wait_for_log(&format!("of {} is invalid: transactions root", proxy.host())).await;
    let log = explorer.log();
    assert!(!log.contains(KEY), "{log}");
    let tip = explorer.json("/health").await["tip"]["number"].as_u64().unwrap_or_default();
    assert!(tip < 6, "block {tip} is indexed, and 6 was never served");
    proxy.stop_tampering();
    assert_equals_node(&explorer, &node).await;
}

#[tokio::test]
async fn changed_logs_are_not_indexed() {
    let (node, _) = DevNode::with_traffic_without_traces(120).await;
    for options in [&["--verify-blocks", "full"][..], &[]] {
        let proxy = TamperingProxy::in_front_of(&node.url(), change_amounts).await;
        let launch = Launch::run(&proxy.url());
        let launch = options.chunks(2).fold(launch, |launch, option| launch.argument(option[0], option[1]));
        let explorer = launch.start().await;
        wait_for_rejection(&explorer, "receipts root").await;
        proxy.stop_tampering();
        assert_equals_node(&explorer, &node).await;
    }
}

#[tokio::test]
async fn a_block_rejected_from_one_node_is_fetched_from_the_next() {
    let (node, _) = DevNode::with_traffic_without_traces(120).await;
    let proxy = TamperingProxy::in_front_of(&node.url(), remove_transactions(3..=u64::MAX)).await;
    let explorer = Launch::run(&proxy.url()).argument("--rpc", node.url()).start().await;
    assert_equals_node(&explorer, &node).await;
    assert!(explorer.log().contains("is invalid: transactions root"), "{}", explorer.log());
}

#[tokio::test]
async fn blocks_of_a_second_node_are_fully_verified_by_default() {
    let (mut node, mut traffic) = DevNode::with_traffic_without_traces(120).await;
    let upstream = DevNode::serve(node.chain.clone()).await;
    let proxy = TamperingProxy::in_front_of(&upstream.url(), change_amounts).await;
    let explorer = Launch::run(&node.url()).argument("--rpc", proxy.url()).start().await;
    node.wait_for(&explorer).await;
    node.stop_serving().await;
    // Transfer amounts are changed, which only the receipts root reveals.
    loop {
        traffic.step().unwrap();
        node.chain.mine(None);
        let newest = node.chain.block(node.chain.head().number).unwrap();
        if newest.transactions.iter().any(|tx| tx.receipt.logs().iter().any(|log| !log.data.data.is_empty())) {
            break;
        }
    }
    wait_for_rejection(&explorer, "receipts root").await;
    node.resume_serving().await;
    assert_equals_node(&explorer, &node).await;
}

#[tokio::test]
async fn every_transaction_type_of_anvil_is_accepted_and_verified_except_the_root_of_blob_blocks() {
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
    // From an impersonated account.
    let impersonated = "0x00000000000000000000000000000000000000aa";
    anvil.rpc.call("anvil_impersonateAccount", json!([impersonated])).await;
    anvil.rpc.call("anvil_setBalance", json!([impersonated, "0xde0b6b3a7640000"])).await;
    anvil.send(json!({"from": impersonated, "to": to, "value": "0x1"})).await;

    let explorer = Launch::run(anvil.url()).argument("--verify-blocks", "full").start().await;
    anvil.wait_for(&explorer).await;
    assert_eq!(explorer.json("/api/v1/stats").await["totalTransactions"], 6);
    let log = explorer.log();
    assert!(!log.contains("invalid"), "{log}");
    let unproven: Vec<_> = log.lines().filter(|line| line.contains("cannot fully verify")).collect();
    assert!(unproven.len() == 1 && unproven[0].contains("sidecars"), "{log}");
}

/// Rewrites blocks as an older version without verification might have stored them.
pub(crate) async fn write_false_blocks(
    data: &Path,
    from: u64,
    undo: fn(u64) -> Undo,
    mut change: impl FnMut(&mut BlockChanges),
) {
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
            transactions: reader.list_transactions(&transactions, all).await.unwrap().items,
            transfers: reader.list_transfers(&transfers, all).await.unwrap().items.iter().map(|it| it.event).collect(),
            ..BlockChanges::of(reader.find_block(BlockId::Number(number)).await.unwrap().unwrap())
        };
        change(&mut changes);
        blocks.push(changes);
    }
    writer.revert_to(from - 1).await.unwrap();
    writer.commit(blocks, undo(from - 1)).await.unwrap();
    store.sync().unwrap();
}

/// Four empty blocks, and a later transfer with a wrong amount.
fn false_blocks(missing: Arc<AtomicU64>) -> impl FnMut(&mut BlockChanges) {
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

/// Runs `explorer check` and returns its exit code and output.
async fn check(data: &DataFolder, arguments: &[&str]) -> (i32, String) {
    let launch = Launch::bare(["check"].iter().chain(arguments).copied()).on(data);
    let mut process = launch.spawn();
    let status = process.ended().await;
    (status.code().unwrap(), process.stdout() + &process.stderr())
}

#[tokio::test]
async fn check_finds_and_repairs_false_blocks_in_the_index() {
    let (node, _) = DevNode::with_traffic_without_traces(200).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let (_, data) = explorer.stop().await;
    let url = node.url();
    let all_well = check(&data, &["--node", "--rpc", &url]).await;
    assert!(all_well.0 == 0 && all_well.1.contains("are what the node says"), "{all_well:?}");

    let missing = Arc::new(AtomicU64::new(0));
    write_false_blocks(data.path(), 5, |down_to| Undo::Keep { down_to }, false_blocks(Arc::clone(&missing))).await;
    let missing = missing.load(Ordering::SeqCst);
    assert!(missing > 0);
    // The block hashes still form a chain, so only the node reveals the difference.
    assert_eq!(check(&data, &[]).await.0, 0);
    let (code, printed) = check(&data, &["--node", "--rpc", &url]).await;
    assert_eq!(code, 2, "{printed}");
    assert!(printed.contains(&format!("Blocks 5 to 8 (4 blocks): {missing} transactions are missing")), "{printed}");
    assert!(printed.contains("the transfer of log"), "{printed}");
    let (code, printed) = check(&data, &["--node", "--rpc", &url, "--from", "1", "--to", "4"]).await;
    assert_eq!(code, 0, "{printed}");

    let (code, printed) = check(&data, &["--node", "--rpc", &url, "--repair"]).await;
    assert_eq!(code, 0, "{printed}");
    assert!(printed.contains("Indexing again from block 5 on.") && printed.contains("Reindexed"), "{printed}");
    let explorer = TestExplorer::start_on(&url, &data).await;
    assert_equals_node(&explorer, &node).await;
}

#[tokio::test]
async fn check_says_what_to_do_about_blocks_that_cannot_be_reverted() {
    let (node, _) = DevNode::with_traffic_without_traces(120).await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let (_, data) = explorer.stop().await;
    write_false_blocks(data.path(), 5, |_| Undo::Discard, false_blocks(Arc::default())).await;
    let (code, printed) = check(&data, &["--node", "--rpc", &node.url(), "--repair"]).await;
    assert_eq!(code, 2, "{printed}");
    assert!(printed.contains("Block 5 cannot be reverted") && printed.contains("explorer reindex"), "{printed}");

    // A node of another chain, or one that serves false blocks, is not used for the comparison.
    let other = DevNode::with(devchain::DevChainConfig { chain_id: 999, ..Default::default() }).await;
    let (code, printed) = check(&data, &["--node", "--rpc", &other.url()]).await;
    assert!(code == 1 && printed.contains("another chain"), "{code} {printed}");
    let proxy = TamperingProxy::in_front_of(&node.url(), remove_transactions(2..=2)).await;
    let (code, printed) = check(&data, &["--node", "--rpc", &proxy.url(), "--to", "4"]).await;
    assert!(code == 1 && printed.contains("block 2 of"), "{code} {printed}");
    let (code, printed) = check(&data, &["--node"]).await;
    assert!(code == 1 && printed.contains("--rpc"), "{code} {printed}");
}
