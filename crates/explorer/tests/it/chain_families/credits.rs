//! Coins that no transaction moves: withdrawals, rewards of blocks and uncles, and what deposits bring.

use alloy_primitives::{B256, U256};
use serde_json::{Value, json};

use super::{ALICE, BOB, on_both_stores, payment};
use crate::{
    internal::wait_for_traces,
    support::{Beside, Draft, ReplayNode, TestExplorer, eventually},
};

const MINER: &str = "0x00000000000000000000000000000000000000c0";
/// Nothing but the protocol ever pays it.
const STAKER: &str = "0x00000000000000000000000000000000000057a4";

pub(super) fn coins(milli: u64) -> U256 {
    U256::from(milli) * U256::from(1_000_000_000_000_000_u64)
}

/// So that Alice can pay.
fn funded() -> Beside {
    Beside::granted(&[(ALICE, coins(1_000_000))])
}

/// Every point of the history of these addresses is what the node says, and the history says so.
async fn assert_exact(explorer: &TestExplorer, node: &ReplayNode, addresses: &[&str]) {
    wait_for_traces(explorer, 0, node.head() as u64).await;
    for address in addresses {
        let history = eventually("an exact history", async || {
            let history = explorer.json(&format!("/api/v1/addresses/{address}/balance-history")).await;
            (history["inexactReasons"] == json!([])).then_some(history)
        })
        .await;
        assert_eq!((&history["exact"], &history["thinned"]), (&json!(true), &json!(false)), "{history}");
        let points = history["points"].as_array().unwrap();
        for block in 0..=node.head() {
            let holds = |point: &&Value| {
                let range = point["blockNumber"].as_u64().unwrap()..=point["lastBlockNumber"].as_u64().unwrap();
                range.contains(&(block as u64))
            };
            let held: Vec<&Value> = points.iter().filter(holds).collect();
            let expected = node.balance(address, block).to_string();
            assert_eq!(held.len(), 1, "one point for block {block} in {history}");
            assert_eq!(held[0]["balance"], expected, "{address} at the end of block {block}: {history}");
        }
    }
}

pub(super) fn withdrawal(index: u64, address: &str, gwei: u64) -> Value {
    json!({
        "index": format!("{index:#x}"), "validatorIndex": format!("{:#x}", index + 100), "address": address,
        "amount": format!("{gwei:#x}"),
    })
}

fn with_withdrawals(withdrawals: &[Value]) -> Draft {
    let header = json!({ "baseFeePerGas": "0x7", "withdrawals": withdrawals });
    Draft { header, ..Draft::default() }
}

#[tokio::test]
async fn withdrawals_are_listed_by_block_and_by_address_and_move_balances() {
    let blocks = [
        with_withdrawals(&[withdrawal(0, STAKER, 3), withdrawal(1, BOB, 32_000_000_000), withdrawal(2, STAKER, 5)]),
        Draft {
            transactions: vec![payment(0, json!({}), json!({})), payment(1, json!({}), json!({"status": "0x0"}))],
            ..with_withdrawals(&[])
        },
        with_withdrawals(&[withdrawal(3, STAKER, u64::MAX)]),
    ];
    let node = ReplayNode::start(1, &blocks).await.with_state(funded());
    on_both_stores(&node, async |explorer| {
        let listed = explorer.json("/api/v1/blocks/1/withdrawals?limit=2").await;
        let block = explorer.json("/api/v1/blocks/1").await;
        let entry = |index: u64, address: &str, amount: &str| {
            json!({
                "index": index, "validatorIndex": index + 100, "address": address, "amount": amount,
                "blockNumber": 1, "timestamp": block["timestamp"],
            })
        };
        let expected = [entry(2, STAKER, "5000000000"), entry(1, BOB, "32000000000000000000")];
        assert_eq!((&listed["withdrawals"], &listed["total"]), (&json!(expected), &json!(3)), "{listed}");
        let by_hash = format!("/api/v1/blocks/{}/withdrawals?limit=2&page=2", block["hash"].as_str().unwrap());
        let rest = explorer.json(&by_hash).await;
        assert_eq!((&rest["withdrawals"], &rest["total"]), (&json!([entry(0, STAKER, "3000000000")]), &json!(3)));
        assert_eq!(explorer.json("/api/v1/blocks/2/withdrawals").await["total"], 0);
        assert_eq!(explorer.get("/api/v1/blocks/9/withdrawals").await.status, 404);

        let mine = explorer.json(&format!("/api/v1/addresses/{STAKER}/withdrawals")).await;
        let indexes: Vec<&Value> = mine["withdrawals"].as_array().unwrap().iter().map(|paid| &paid["index"]).collect();
        assert_eq!((&json!(indexes), &mine["total"]), (&json!([3, 2, 0]), &json!(3)), "{mine}");
        assert_eq!(mine["withdrawals"][0]["amount"], format!("{}000000000", u64::MAX));

        // Nothing else makes the address known.
        let account = explorer.json(&format!("/api/v1/addresses/{STAKER}")).await;
        let last = explorer.json("/api/v1/blocks/3").await;
        let seen = (&account["firstSeen"], &account["lastSeen"], &account["txCount"]);
        assert_eq!(seen, (&block["timestamp"], &last["timestamp"], &json!(0)), "{account}");
        assert_eq!(account["balance"], node.balance(STAKER, 3).to_string());

        let path = format!("/api?module=account&action=txsBeaconWithdrawal&address={STAKER}&startblock=0&endblock=1");
        let rows = explorer.json(&path).await;
        let row = |index: u64, gwei: &str| {
            json!({
                "withdrawalIndex": index.to_string(), "validatorIndex": (index + 100).to_string(), "address": STAKER,
                "amount": gwei, "blockNumber": "1", "timestamp": (1_700_000_000 + 12).to_string(),
            })
        };
        assert_eq!(rows["result"], json!([row(0, "3"), row(2, "5")]), "{rows}");

        let page = explorer.get("/block/1").await.text;
        assert!(page.contains("/block/1?tab=withdrawals"), "{page}");
        let page = explorer.get("/block/1?tab=withdrawals").await.text;
        assert!(page.contains("validator 101") && page.contains("3 total"), "{page}");
        assert!(!explorer.get("/block/2").await.text.contains("tab=withdrawals"));
        let page = explorer.get(&format!("/address/{STAKER}?tab=withdrawals")).await.text;
        assert!(page.contains("validator 103") && page.contains("3 total"), "{page}");

        assert_exact(explorer, &node, &[STAKER, BOB, ALICE, MINER]).await;
    })
    .await;
}

#[tokio::test]
async fn a_history_of_many_changes_says_that_points_are_left_out_and_how_long_each_holds() {
    const BLOCKS: u64 = 150;
    let blocks: Vec<Draft> =
        (0..BLOCKS).map(|index| with_withdrawals(&[withdrawal(index, STAKER, index + 1)])).collect();
    let node = ReplayNode::start(1, &blocks).await.with_state(funded());
    on_both_stores(&node, async |explorer| {
        wait_for_traces(explorer, 0, BLOCKS).await;
        let history = explorer.json(&format!("/api/v1/addresses/{STAKER}/balance-history")).await;
        assert_eq!((&history["exact"], &history["thinned"]), (&json!(true), &json!(true)), "{history}");
        let points = history["points"].as_array().unwrap();
        assert!((50..=100).contains(&points.len()), "{history}");
        let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        let mut end = None;
        for point in points {
            let (first, last) = (number(&point["blockNumber"]), number(&point["lastBlockNumber"]));
            assert!(end.is_none_or(|end| end < first) && first <= last, "{point} after block {end:?}");
            for block in first..=last {
                assert_eq!(point["balance"], node.balance(STAKER, block).to_string(), "block {block}: {point}");
            }
            end = Some(last);
        }
        assert_eq!(end, Some(node.head()));
    })
    .await;
}

/// The first block of Ethereum, as it is.
pub(super) fn genesis_of_ethereum() -> Draft {
    let header = json!({
        "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
        "miner": alloy_primitives::Address::ZERO, "difficulty": "0x400000000", "gasLimit": "0x1388", "timestamp": "0x0",
        "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
        "nonce": "0x0000000000000042",
    });
    Draft { header, ..Draft::default() }
}

pub(super) fn uncle(number: u64, miner: &str) -> Value {
    json!({
        "parentHash": B256::repeat_byte(1), "sha3Uncles": B256::repeat_byte(2), "miner": miner,
        "stateRoot": B256::repeat_byte(3), "transactionsRoot": B256::repeat_byte(4), "receiptsRoot": B256::repeat_byte(5),
        "logsBloom": alloy_primitives::Bloom::ZERO, "difficulty": "0x400000000", "number": format!("{number:#x}"),
        "gasLimit": "0x1388", "gasUsed": "0x0", "timestamp": "0x55ba4224", "extraData": "0x476574682f76312e302e30",
        "mixHash": B256::repeat_byte(6), "nonce": "0x39a3eb432fbef1fc",
    })
}

pub(super) fn mined(uncles: Vec<Value>) -> Draft {
    let header = json!({ "difficulty": "0x400000000" });
    // Before London, the whole price is the producer's.
    let old = json!({"type": "0x0", "v": "0x1b", "maxFeePerGas": null, "accessList": null});
    Draft { header, transactions: vec![payment(0, old, json!({}))], uncles }
}

#[tokio::test]
async fn blocks_and_uncles_of_a_chain_with_proof_of_work_are_rewarded() {
    let blocks = [mined(Vec::new()), mined(Vec::new()), mined(vec![uncle(2, STAKER), uncle(1, BOB)])];
    let mut beside = funded();
    let paid = |block: u64, to: &str, milli: u64| (block, to.to_owned(), coins(milli));
    beside.rewards = vec![paid(1, MINER, 5_000), paid(2, MINER, 5_000), paid(3, MINER, 5_000)];
    // 5 coins: a thirty-second for each uncle, seven and six eighths for their producers.
    beside.rewards.push((3, MINER.to_owned(), U256::from(312_500_000_000_000_000_u64)));
    beside.rewards.extend([paid(3, STAKER, 4_375), paid(3, BOB, 3_750)]);
    let node = ReplayNode::start_from(1, &genesis_of_ethereum(), &blocks).await.with_state(beside);
    on_both_stores(&node, async |explorer| {
        let fee = 21_000 * 9;
        let reward = explorer.json("/api?module=block&action=getblockreward&blockno=3").await["result"].clone();
        assert_eq!(reward["blockReward"], (5_312_500_000_000_000_000_u64 + fee).to_string(), "{reward}");
        assert_eq!(reward["uncleInclusionReward"], "312500000000000000");
        let uncles = json!([
            {"miner": STAKER, "unclePosition": "0", "blockreward": "4375000000000000000"},
            {"miner": BOB, "unclePosition": "1", "blockreward": "3750000000000000000"},
        ]);
        assert_eq!(reward["uncles"], uncles);
        let path = |kind: &str, miner: &str| {
            format!("/api?module=account&action=getminedblocks&blocktype={kind}&address={miner}&sort=asc")
        };
        let blocks = explorer.json(&path("blocks", MINER)).await;
        assert_eq!(blocks["result"][0]["blockReward"], (5_000_000_000_000_000_000_u64 + fee).to_string(), "{blocks}");
        let uncles = explorer.json(&path("uncles", STAKER)).await;
        let expected = json!([{
            "blockNumber": "2", "timeStamp": "1438269988", "blockReward": "4375000000000000000",
        }]);
        assert_eq!(uncles["result"], expected, "{uncles}");

        let issued = explorer.json("/api/v1/blocks/3/issuance").await;
        let kinds: Vec<&Value> = issued["issuance"].as_array().unwrap().iter().map(|paid| &paid["kind"]).collect();
        assert_eq!(
            (json!(kinds), &issued["total"]),
            (json!(["uncle_reward", "uncle_reward", "block_reward"]), &json!(3))
        );
        let hash = node.block(3)["uncles"][1].clone();
        assert_eq!((&issued["issuance"][0]["uncle"]["hash"], &issued["issuance"][0]["address"]), (&hash, &json!(BOB)));
        let mine = explorer.json(&format!("/api/v1/addresses/{MINER}/issuance")).await;
        assert_eq!((&mine["total"], &mine["issuance"][0]["amount"]), (&json!(3), &json!("5312500000000000000")));
        let (header, served) = (explorer.json("/api/v1/blocks/3/header").await, node.block(3));
        let said = (&header["uncles"], &header["extraData"], &header["difficulty"]);
        let difficulty = json!(0x4_0000_0000_u64.to_string());
        assert_eq!(said, (&served["uncles"], &served["extraData"], &difficulty), "{header}");
        let page = explorer.get("/block/3/header").await.text;
        assert!(page.contains(hash.as_str().unwrap()), "{page}");
        let page = explorer.get("/block/3?tab=rewards").await.text;
        assert!(page.contains("Uncle reward") && page.contains("Block reward"), "{page}");

        assert_exact(explorer, &node, &[MINER, STAKER, BOB, ALICE]).await;
    })
    .await;
}

#[tokio::test]
async fn a_reward_that_is_not_known_is_named_and_nothing_is_called_exact() {
    let mut beside = funded();
    beside.rewards = vec![(1, MINER.to_owned(), coins(2_000)), (1, STAKER.to_owned(), coins(1_000))];
    // The same rules, but another genesis block.
    let node = ReplayNode::start(1, &[mined(Vec::new())]).await.with_state(beside);
    on_both_stores(&node, async |explorer| {
        wait_for_traces(explorer, 0, 1).await;
        let reasons = async |address: &str| {
            let history = explorer.json(&format!("/api/v1/addresses/{address}/balance-history")).await;
            (history["exact"].clone(), history["inexactReasons"].clone())
        };
        assert_eq!(reasons(MINER).await, (json!(false), json!(["block_rewards"])));
        assert_eq!(reasons(STAKER).await, (json!(false), json!(["does_not_add_up"])));
        assert_eq!(reasons(BOB).await, (json!(true), json!([])));
        assert_eq!(explorer.json("/api/v1/blocks/1/issuance").await["total"], 0);
    })
    .await;
}

#[tokio::test]
async fn the_coins_that_a_deposit_brings_are_part_of_the_balance() {
    let deposit = |source: u8, mint: &str, status: &str| {
        let mut deposit = payment(
            0,
            json!({
                "type": "0x7e", "sourceHash": B256::repeat_byte(source), "mint": mint, "gasPrice": "0x0", "from": STAKER,
                "maxFeePerGas": null, "maxPriorityFeePerGas": null, "isSystemTx": false, "yParity": null, "v": "0x0",
                "r": "0x0", "s": "0x0", "accessList": null, "chainId": null,
            }),
            json!({"effectiveGasPrice": "0x0", "depositNonce": "0x0", "depositReceiptVersion": "0x1", "status": status}),
        );
        deposit.transaction["gas"] = json!("0xf4240");
        deposit
    };
    // Also a deposit that fails brings its coins. The root of a rollup is that of its messages, not of withdrawals.
    let header = json!({ "baseFeePerGas": "0x7", "withdrawals": [], "withdrawalsRoot": B256::repeat_byte(0x77) });
    let transactions = vec![deposit(1, "0x3e8", "0x1"), deposit(2, "0x7d0", "0x0")];
    let node = ReplayNode::start(10, &[Draft { header, transactions, ..Draft::default() }]).await.with_state(funded());
    on_both_stores(&node, async |explorer| {
        let issued = explorer.json(&format!("/api/v1/addresses/{STAKER}/issuance")).await;
        let minted: Vec<(&Value, &Value)> =
            issued["issuance"].as_array().unwrap().iter().map(|paid| (&paid["txIndex"], &paid["amount"])).collect();
        assert_eq!(minted, [(&json!(1), &json!("2000")), (&json!(0), &json!("1000"))], "{issued}");
        assert_exact(explorer, &node, &[STAKER, BOB]).await;
        assert_eq!(node.balance(STAKER, 1), U256::from(2_900));
    })
    .await;
}

#[tokio::test]
async fn withdrawals_and_uncles_that_a_node_leaves_out_are_noticed() {
    let mut hidden = with_withdrawals(&[]);
    hidden.header["withdrawalsRoot"] = json!(B256::repeat_byte(9));
    let node = ReplayNode::start(1, &[hidden]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    explorer.wait_for_log("withdrawals root").await;
    let mut hidden = mined(Vec::new());
    hidden.header["sha3Uncles"] = json!(B256::repeat_byte(9));
    let node = ReplayNode::start_from(1, &genesis_of_ethereum(), &[hidden]).await;
    let explorer = TestExplorer::start(&node.url()).await;
    explorer.wait_for_log("hash of uncles").await;
}
