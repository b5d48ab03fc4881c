//! What a transaction paid, in every place that says it.

use serde_json::{Value, json};

use super::{ALICE, on_both_stores, payment};
use crate::support::{Draft, Included, ReplayNode, TestExplorer};

const BASE: u64 = 21_000 * 7;
const TIP: u64 = 21_000 * 2;
const BLOB: u64 = 2 * 131_072 * 3;

fn london(transactions: Vec<Included>) -> Draft {
    Draft { header: json!({"baseFeePerGas": "0x7"}), transactions, ..Draft::default() }
}

fn parts(base: u64, priority: u64, blob: u64, l1: u64, operator: u64) -> Value {
    let text = |amount: u64| amount.to_string();
    json!({
        "base": text(base), "priority": text(priority), "blob": text(blob), "l1": text(l1), "operator": text(operator),
        "currency": null,
    })
}

async fn transaction(explorer: &TestExplorer, hash: &str) -> Value {
    explorer.json(&format!("/api/v1/transactions/{hash}")).await
}

/// All fees of the chain so far, as every list says them, and what was burnt of them.
async fn assert_fees(explorer: &TestExplorer, fees: &[u64], burnt: u64, mean_price: Value) {
    let list = explorer.json("/api/v1/transactions").await;
    let listed: Vec<&str> =
        list["transactions"].as_array().unwrap().iter().filter_map(|tx| tx["fee"].as_str()).collect();
    let expected: Vec<String> = fees.iter().rev().map(u64::to_string).collect();
    assert_eq!(listed, expected);
    let total: u64 = fees.iter().sum();
    let days = explorer.json("/api/v1/stats/days").await;
    let day = &days["days"].as_array().unwrap()[0];
    let figures = (&day["fees"], &day["burntFees"], &day["avgGasPrice"]);
    assert_eq!(figures, (&json!(total.to_string()), &json!(burnt.to_string()), &mean_price));
    let stats = explorer.json("/api/v1/stats").await;
    let unknown = if mean_price.is_null() { json!(["avgGasPrice"]) } else { json!([]) };
    assert_eq!(stats["unknownFields"], unknown, "{stats}");
    assert_eq!(stats["avgGasPrice"], if mean_price.is_null() { json!("0") } else { mean_price });
    let file = explorer.get(&format!("/address/{ALICE}?format=csv&limit=100")).await.text;
    let mut rows = file.lines();
    let column = rows.next().unwrap().split(',').position(|name| name == "fee_wei").unwrap();
    let of_file: Vec<&str> = rows.map(|row| row.split(',').nth(column).unwrap()).collect();
    assert_eq!(of_file, expected, "{file}");
    let rows = explorer.json(&format!("/api?module=account&action=txlist&address={ALICE}&sort=desc")).await;
    let in_dialect: Vec<&str> = rows["result"].as_array().unwrap().iter().filter_map(|tx| tx["fee"].as_str()).collect();
    assert_eq!(in_dialect, expected);
}

#[tokio::test]
async fn a_transaction_with_blobs_pays_for_them_and_burns_what_they_cost() {
    let hashes = json!([format!("0x01{}", "11".repeat(31)), format!("0x01{}", "22".repeat(31))]);
    let blobs = payment(
        0,
        json!({"type": "0x3", "maxFeePerBlobGas": "0x9", "blobVersionedHashes": hashes}),
        json!({"blobGasUsed": "0x40000", "blobGasPrice": "0x3"}),
    );
    let header = json!({
        "baseFeePerGas": "0x7", "withdrawalsRoot": alloy_trie::EMPTY_ROOT_HASH, "blobGasUsed": "0x40000",
        "excessBlobGas": "0x0", "parentBeaconBlockRoot": alloy_primitives::B256::ZERO,
    });
    let transactions = vec![blobs, payment(1, json!({}), json!({}))];
    let block = Draft { header, transactions, ..Draft::default() };
    let node = ReplayNode::start(1, &[block]).await;
    on_both_stores(&node, async |explorer| {
        let shown = transaction(explorer, &node.hash(1, 0)).await;
        assert_eq!(shown["fee"], (BASE + TIP + BLOB).to_string());
        assert_eq!(shown["feeParts"], parts(BASE, TIP, BLOB, 0, 0));
        assert_eq!(shown["burntFee"], (BASE + BLOB).to_string());
        assert_fees(explorer, &[BASE + TIP + BLOB, BASE + TIP], 2 * BASE + BLOB, json!("9")).await;
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
        assert!(page.contains("Blob fee") && page.contains(&format!("({} wei)", BASE + TIP + BLOB)), "{page}");
        let blobs = page.split("<h2 id=\"blobs\">").nth(1).and_then(|rest| rest.split("</section>").next()).unwrap();
        let versioned: Vec<&str> = hashes.as_array().unwrap().iter().map(|hash| hash.as_str().unwrap()).collect();
        assert!(blobs.contains("262,144") && versioned.iter().all(|hash| blobs.contains(hash)), "{blobs}");
        assert!(
            blobs.contains("3 wei") && blobs.contains("9 wei") && blobs.contains(&format!("({BLOB} wei)")),
            "{blobs}"
        );
        let page = explorer.get("/block/1/header").await.text;
        assert!(page.contains("262,144") && versioned.iter().all(|hash| page.contains(hash)), "{page}");
        let header = explorer.json("/api/v1/blocks/1/header").await;
        let blobs = (&header["blobCount"], &header["blobVersionedHashes"], &header["blobFees"], &header["blobGasUsed"]);
        assert_eq!(blobs, (&json!(2), &hashes, &json!(BLOB.to_string()), &json!("262144")), "{header}");
        let served = node.block(1);
        assert_eq!((&header["stateRoot"], &header["hash"]), (&served["stateRoot"], &served["hash"]), "{header}");
        assert_eq!((&header["difficulty"], &header["uncles"]), (&json!("0"), &json!([])), "{header}");
        let reward = explorer.json("/api?module=block&action=getblockreward&blockno=1").await;
        assert_eq!(reward["result"]["blockReward"], (2 * TIP).to_string());
    })
    .await;
}

#[tokio::test]
async fn a_rollup_charges_for_the_chain_below_and_its_operator_and_a_deposit_pays_nothing() {
    let deposit = |source: u8| {
        let mut deposit = payment(
            0,
            json!({
                "type": "0x7e", "sourceHash": alloy_primitives::B256::repeat_byte(source), "mint": "0x5", "gasPrice": "0x0",
                "maxFeePerGas": null, "maxPriorityFeePerGas": null, "isSystemTx": false, "yParity": null, "v": "0x0",
                "r": "0x0", "s": "0x0", "accessList": null, "chainId": null,
            }),
            json!({"effectiveGasPrice": "0x0", "depositNonce": "0x0", "depositReceiptVersion": "0x1", "l1Fee": "0x0"}),
        );
        deposit.transaction["gas"] = json!("0xf4240");
        deposit
    };
    let isthmus = json!({"l1Fee": "0x3039", "operatorFeeScalar": "0x1e8480", "operatorFeeConstant": "0x64", "l1BaseFeeScalar": "0x5"});
    let mut jovian = isthmus.clone();
    // The field of blob gas has another meaning here.
    jovian["daFootprintGasScalar"] = json!("0x190");
    jovian["blobGasUsed"] = json!("0x9c40");
    let blocks = [
        london(vec![deposit(1), payment(1, json!({}), isthmus)]),
        london(vec![deposit(2), payment(2, json!({}), jovian)]),
    ];
    let node = ReplayNode::start(10, &blocks).await;
    on_both_stores(&node, async |explorer| {
        let free = transaction(explorer, &node.hash(1, 0)).await;
        assert_eq!((&free["fee"], &free["burntFee"], &free["type"]), (&json!("0"), &json!("0"), &json!(126)));
        assert_eq!(free["feeParts"], parts(0, 0, 0, 0, 0));
        let operator = [21_000 * 2 + 100, 21_000 * 2_000_000 * 100 + 100];
        for (block, operator) in (1..).zip(operator) {
            let paid = transaction(explorer, &node.hash(block, 1)).await;
            assert_eq!(paid["feeParts"], parts(BASE, TIP, 0, 12_345, operator));
            assert_eq!(paid["fee"], (BASE + TIP + 12_345 + operator).to_string());
        }
        let fees = [0, BASE + TIP + 12_345 + operator[0], 0, BASE + TIP + 12_345 + operator[1]];
        assert_fees(explorer, &fees, 2 * BASE, json!("9")).await;
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
        assert!(page.contains("deposit") && !page.contains("Burnt"), "{page}");
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 1))).await.text;
        assert!(page.contains("L1 fee") && page.contains("Operator fee"), "{page}");
        let gas = explorer.json("/api/v1/stats/gas").await;
        assert_eq!((&gas["transactions"], &gas["lowPriorityFee"]), (&json!(2), &json!("2")));
    })
    .await;
}

#[tokio::test]
async fn a_fee_that_is_paid_in_a_token_is_no_amount_of_the_coin() {
    const DOLLAR: &str = "0x765de816845861e75a25fca122bb6898b8b1282a";
    let in_token = payment(
        0,
        json!({"type": "0x7b", "chainId": "0xa4ec", "feeCurrency": DOLLAR, "gasPrice": "0x3b9aca00"}),
        json!({"effectiveGasPrice": "0x3b9aca00"}),
    );
    let in_coin = payment(1, json!({"feeCurrency": null}), json!({}));
    let node = ReplayNode::start(42_220, &[london(vec![in_token, in_coin])]).await;
    on_both_stores(&node, async |explorer| {
        let paid = transaction(explorer, &node.hash(1, 0)).await;
        assert_eq!(
            (&paid["fee"], &paid["burntFee"], &paid["gasPrice"]),
            (&json!("0"), &json!("0"), &json!("1000000000"))
        );
        let mut expected = parts(BASE, 21_000 * (1_000_000_000 - 7), 0, 0, 0);
        expected["currency"] = json!(DOLLAR);
        assert_eq!(paid["feeParts"], expected);
        assert_fees(explorer, &[0, BASE + TIP], BASE, json!("9")).await;
        let page = explorer.get(&format!("/tx/{}", node.hash(1, 0))).await.text;
        assert!(!page.contains("Burnt") && page.to_lowercase().contains(&format!("/token/{DOLLAR}")), "{page}");
        let list = explorer.get(&format!("/address/{ALICE}")).await.text;
        assert!(list.contains("in a token"), "{list}");
    })
    .await;
}

#[tokio::test]
async fn a_transaction_without_a_price_burns_nothing_and_lowers_no_mean() {
    // A transaction that the chain below paid for, of the bootloader of a rollup.
    let priority = payment(
        0,
        json!({"type": "0xff", "gasPrice": "0x0", "maxFeePerGas": "0x0", "hash": alloy_primitives::B256::repeat_byte(0xf1)}),
        json!({"effectiveGasPrice": "0x0"}),
    );
    // Of the producer of the block, as those of the staking contracts of BNB Smart Chain.
    let miner = "0x00000000000000000000000000000000000000c0";
    let system = payment(
        7,
        json!({"type": "0x0", "from": miner, "to": ALICE, "gasPrice": "0x0", "v": "0x93", "maxFeePerGas": null}),
        json!({"effectiveGasPrice": "0x0"}),
    );
    let node = ReplayNode::start(324, &[london(vec![priority, system, payment(1, json!({}), json!({}))])]).await;
    on_both_stores(&node, async |explorer| {
        assert_fees(explorer, &[0, 0, BASE + TIP], BASE, json!("9")).await;
        let shown = transaction(explorer, &node.hash(1, 0)).await;
        assert_eq!((&shown["burntFee"], &shown["type"]), (&json!("0"), &json!(255)));
    })
    .await;
}

#[tokio::test]
async fn refunded_gas_that_a_block_counts_is_not_burnt() {
    let header = json!({
        "baseFeePerGas": "0x7", "withdrawalsRoot": alloy_trie::EMPTY_ROOT_HASH, "blobGasUsed": "0x0", "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": alloy_primitives::B256::ZERO, "requestsHash": alloy_primitives::B256::repeat_byte(3),
        "blockAccessListHash": alloy_primitives::B256::repeat_byte(4), "gasUsed": "0x7530",
    });
    let block = Draft { header, transactions: vec![payment(0, json!({}), json!({}))], ..Draft::default() };
    let node = ReplayNode::start(1, &[block]).await;
    on_both_stores(&node, async |explorer| {
        assert_eq!(explorer.json("/api/v1/blocks/1").await["gasUsed"], "30000");
        assert_fees(explorer, &[BASE + TIP], BASE, json!("9")).await;
    })
    .await;
}

#[tokio::test]
async fn blobs_whose_price_the_node_does_not_tell_are_not_free() {
    let blobs = payment(
        0,
        json!({"type": "0x3", "maxFeePerBlobGas": "0x9", "blobVersionedHashes": [format!("0x01{}", "11".repeat(31))]}),
        json!({"blobGasUsed": "0x20000"}),
    );
    let node = ReplayNode::start(1, &[london(vec![blobs])]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    explorer.wait_for_log("has no blobGasPrice").await;
    assert_ne!(explorer.json("/health").await["tip"]["number"], json!(1));
}
