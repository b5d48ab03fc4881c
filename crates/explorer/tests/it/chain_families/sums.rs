//! The coins of every account are what it received less what it paid, as lists say, on chains that have everything that moves coins:
//! on both stores, from a later block on, and after a bootstrap.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{B256, I256, U256};
use serde_json::{Value, json};

use super::{
    ALICE, BOB,
    credits::{coins, genesis_of_ethereum, mined, uncle, withdrawal},
    hex, payment,
};
use crate::{
    internal::wait_for_traces,
    postgres::{on_database, server::Server},
    support::{Beside, Draft, GenesisFile, Included, Launch, ReplayNode, TestExplorer, read_list, run_explorer},
};

const STAKER: &str = "0x00000000000000000000000000000000000057a4";
const CONTRACT: &str = "0x00000000000000000000000000000000000000cc";
const CAROL: &str = "0x00000000000000000000000000000000000000c4";
const CREATED: &str = "0x00000000000000000000000000000000000000dd";
const MINER: &str = "0x00000000000000000000000000000000000000c0";
const LATER: u64 = 3;

fn block(transactions: Vec<Included>, fields: Value) -> Draft {
    let mut header = json!({"baseFeePerGas": "0x7"});
    for (name, value) in fields.as_object().unwrap() {
        header[name] = value.clone();
    }
    Draft { header, transactions, ..Draft::default() }
}

fn call(kind: &str, to: &str, value: u64) -> Value {
    json!({
        "type": kind, "from": CONTRACT, "to": to, "value": hex(value), "gas": "0x9", "gasUsed": "0x9", "input": "0x",
    })
}

/// Of a type that is paid below, without a signature.
fn unpaid(tx_type: &str, nonce: u8, mut fields: Value, receipt: Value) -> Included {
    for field in ["maxFeePerGas", "maxPriorityFeePerGas", "yParity", "accessList", "chainId"] {
        fields[field] = Value::Null;
    }
    for field in ["gasPrice", "v", "r", "s"] {
        fields[field] = json!("0x0");
    }
    fields["type"] = json!(tx_type);
    fields["gas"] = json!("0xf4240");
    let mut included = payment(nonce.into(), fields, receipt);
    included.receipt["effectiveGasPrice"] = json!("0x0");
    included
}

fn log(from: &str, to: &str, value: u64) -> Value {
    const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let topic = |address: &str| format!("0x{:0>64}", &address[2..]);
    json!({
        "address": "0xfffffffffffffffffffffffffffffffffffffffe", "topics": [TRANSFER, topic(from), topic(to)],
        "data": format!("0x{value:064x}"),
    })
}

/// Withdrawals, blobs, calls inside transactions, deposits and fees of rollups, refunds, and logs of the coin.
fn modern() -> (Vec<Draft>, Beside) {
    let to_contract = |nonce: u64, receipt: Value| payment(nonce, json!({"to": CONTRACT, "gas": "0xf4240"}), receipt);
    let withdrawals = json!([withdrawal(0, STAKER, 3), withdrawal(1, BOB, 32_000_000_000), withdrawal(2, STAKER, 5)]);
    let blobs = payment(
        2,
        json!({"type": "0x3", "maxFeePerBlobGas": "0x9", "blobVersionedHashes": [format!("0x01{}", "11".repeat(31))]}),
        json!({"blobGasUsed": "0x20000", "blobGasPrice": "0x3"}),
    );
    let of_cancun = json!({
        "withdrawals": [], "blobGasUsed": "0x20000", "excessBlobGas": "0x0", "parentBeaconBlockRoot": B256::ZERO,
    });
    let deposit = |source: u8, mint: &str, status: &str| {
        let fields =
            json!({"from": STAKER, "sourceHash": B256::repeat_byte(source), "mint": mint, "isSystemTx": false});
        unpaid("0x7e", 0, fields, json!({"depositNonce": "0x0", "depositReceiptVersion": "0x1", "status": status}))
    };
    let isthmus = json!({"l1Fee": "0x3039", "operatorFeeScalar": "0x1e8480", "operatorFeeConstant": "0x64"});
    let of_arbitrum = |tx_type: &str, nonce: u8, mut fields: Value| {
        (fields["hash"], fields["requestId"]) =
            (json!(B256::repeat_byte(0xa0 + nonce)), json!(B256::repeat_byte(nonce)));
        unpaid(tx_type, nonce, fields, json!({}))
    };
    let in_token = payment(
        5,
        json!({"type": "0x7b", "feeCurrency": "0x765de816845861e75a25fca122bb6898b8b1282a", "gasPrice": "0x3b9aca00"}),
        json!({"effectiveGasPrice": "0x3b9aca00"}),
    );
    let creation = payment(6, json!({"to": null, "input": "0x60"}), json!({"contractAddress": CREATED}));
    let logged = [log(ALICE, CONTRACT, 100), log(CONTRACT, CAROL, 70)];
    let drafts = vec![
        block(
            vec![payment(0, json!({}), json!({})), payment(1, json!({}), json!({"status": "0x0"}))],
            json!({ "withdrawals": withdrawals }),
        ),
        block(vec![blobs, to_contract(3, json!({"gasUsed": "0x9000"}))], of_cancun),
        block(
            vec![deposit(1, "0x3e8", "0x1"), deposit(2, "0x7d0", "0x0"), payment(4, json!({}), isthmus)],
            json!({ "withdrawals": [], "withdrawalsRoot": B256::repeat_byte(0x77) }),
        ),
        block(
            vec![
                of_arbitrum("0x6a", 1, json!({"value": "0x0"})),
                of_arbitrum("0x64", 2, json!({"from": STAKER, "to": CAROL, "value": "0x1388"})),
                of_arbitrum("0x69", 3, json!({"from": STAKER, "value": "0x0", "depositValue": "0x1b58"})),
            ],
            json!({}),
        ),
        block(vec![in_token, creation], json!({})),
        block(vec![to_contract(7, json!({"gasUsed": "0x32ca"}))], json!({})),
        block(vec![to_contract(8, json!({"gasUsed": "0x9000", "logs": logged}))], json!({})),
    ];
    let mut failed = call("CALL", BOB, 9);
    failed["error"] = json!("out of gas");
    let mut beside = Beside::granted(&[(ALICE, coins(1_000_000)), (CAROL, coins(1)), (MINER, U256::ONE)]);
    beside.calls = vec![
        ((2, 1), json!([call("CALL", CAROL, 70), failed])),
        ((6, 0), json!([call("SELFDESTRUCT", BOB, 130)])),
        ((7, 0), json!([call("CALL", CAROL, 70)])),
    ];
    (drafts, beside)
}

/// Work, uncles, and transactions before Byzantium that failed, as only a trace tells.
fn early() -> (Vec<Draft>, Beside) {
    let frontier = |nonce: u64, receipt: Value| {
        let old = json!({"type": "0x0", "v": "0x1b", "maxFeePerGas": null, "accessList": null, "to": CONTRACT});
        let mut sent = payment(nonce, old, receipt);
        sent.receipt["status"] = Value::Null;
        sent.receipt["root"] = json!(B256::repeat_byte(9));
        sent
    };
    let with = |transactions, uncles| Draft { transactions, ..mined(uncles) };
    let drafts = vec![
        with(vec![frontier(0, json!({}))], Vec::new()),
        with(vec![frontier(1, json!({})), frontier(2, json!({"gasUsed": "0x32ca"}))], Vec::new()),
        with(Vec::new(), vec![uncle(2, STAKER), uncle(1, BOB)]),
        with(vec![frontier(3, json!({}))], vec![uncle(3, STAKER)]),
    ];
    let mut beside = Beside::granted(&[(ALICE, coins(1_000_000))]);
    let paid = |block: u64, to: &str, milli: u64| (block, to.to_owned(), coins(milli));
    beside.rewards = (1..=4).map(|block| paid(block, MINER, 5_000)).collect();
    let share = U256::from(156_250_000_000_000_000_u64);
    beside.rewards.extend([(3, MINER.to_owned(), share + share), (4, MINER.to_owned(), share)]);
    beside.rewards.extend([paid(3, STAKER, 4_375), paid(3, BOB, 3_750), paid(4, STAKER, 4_375)]);
    beside.calls = vec![((2, 0), json!("it failed")), ((2, 1), json!([call("SELFDESTRUCT", BOB, 200)]))];
    (drafts, beside)
}

fn amount(value: &Value) -> I256 {
    value.as_str().unwrap().parse().unwrap()
}

type Sums = BTreeMap<String, I256>;

fn add(sums: &mut Sums, address: &Value, amount: I256) {
    if let Some(address) = address.as_str().filter(|address| !address.is_empty()) {
        *sums.entry(address.to_owned()).or_default() += amount;
    }
}

/// What each account received less what it paid, from the first indexed block on.
async fn sums(explorer: &TestExplorer, first: u64, head: u64) -> Sums {
    let (client, mut sums) = (explorer.client(), Sums::new());
    for tx in read_list(client, "/api/v1/transactions?", "transactions").await {
        let detail = explorer.json(&format!("/api/v1/transactions/{}", tx["hash"].as_str().unwrap())).await;
        let block = explorer.json(&format!("/api/v1/blocks/{}", tx["blockNumber"])).await;
        add(&mut sums, &tx["fromAddress"], -amount(&tx["fee"]));
        if detail["feeParts"]["currency"].is_null() {
            add(&mut sums, &block["miner"], amount(&detail["feeParts"]["priority"]));
        }
        if tx["status"] == true {
            assert_eq!(tx["statusKnown"], true, "{tx}");
            let to = if tx["contractAddress"].is_string() { &tx["contractAddress"] } else { &tx["toAddress"] };
            add(&mut sums, &tx["fromAddress"], -amount(&tx["value"]));
            add(&mut sums, to, amount(&tx["value"]));
        }
    }
    for inner in read_list(client, "/api/v1/internal-transactions?", "internalTransactions").await {
        if inner["error"].is_null() {
            add(&mut sums, &inner["fromAddress"], -amount(&inner["value"]));
            add(&mut sums, &inner["toAddress"], amount(&inner["value"]));
        }
    }
    let mut by_block = BTreeMap::new();
    for number in first..=head {
        for list in ["withdrawals", "issuance"] {
            for paid in read_list(client, &format!("/api/v1/blocks/{number}/{list}?"), list).await {
                add(&mut sums, &paid["address"], amount(&paid["amount"]));
                *by_block.entry((list, paid["address"].as_str().unwrap().to_owned())).or_insert(I256::ZERO) +=
                    amount(&paid["amount"]);
            }
        }
    }
    for ((list, address), expected) in by_block {
        let listed = read_list(client, &format!("/api/v1/addresses/{address}/{list}?"), list).await;
        let found = listed.iter().fold(I256::ZERO, |sum, paid| sum + amount(&paid["amount"]));
        assert_eq!(found, expected, "{list} of {address}");
    }
    sums
}

/// From this block on; what was before it is known to the node alone, and so is what the first block granted without its file.
async fn assert_sums(explorer: &TestExplorer, node: &ReplayNode, first: u64, knows_genesis: bool) {
    node.wait_for(explorer).await;
    let head = node.head() as u64;
    wait_for_traces(explorer, first, head).await;
    let sums = sums(explorer, first, head).await;
    let everybody: BTreeSet<&str> = [ALICE, BOB, CAROL, STAKER, CONTRACT, MINER].into();
    let known = sums.keys().map(String::as_str).collect::<BTreeSet<_>>();
    assert!(everybody.intersection(&known).count() >= 5, "{known:?}");
    for (address, moved) in &sums {
        let before = match first {
            0 if knows_genesis => U256::ZERO,
            0 => node.balance(address, 0),
            first => node.balance(address, usize::try_from(first).unwrap() - 1),
        };
        let balance = I256::try_from(before).unwrap() + *moved;
        let expected = node.balance(address, node.head());
        assert_eq!(balance.to_string(), expected.to_string(), "{address} from block {first}");
        let history = explorer.json(&format!("/api/v1/addresses/{address}/balance-history")).await;
        assert_eq!(
            (&history["exact"], &history["completeFrom"]),
            (&json!(true), &json!(first)),
            "{address}: {history}"
        );
        let last = history["points"].as_array().unwrap().last().unwrap();
        assert_eq!(last["balance"], expected.to_string(), "{history}");
    }
}

/// From the first block, and after a bootstrap from what was published of that.
async fn assert_sums_after_a_bootstrap(node: &ReplayNode, launch: Launch, knows_genesis: bool) {
    let whole = launch.start().await;
    assert_sums(&whole, node, 0, knows_genesis).await;
    let published = tempfile::tempdir().unwrap();
    let file = published.path().join("index.tar");
    let (folder, file) = (whole.data().clone(), file.to_str().unwrap());
    let data = folder.path().to_str().unwrap();
    let (succeeded, message) = run_explorer(&["snapshot", "--data", data, file, "--index-only"]).await;
    assert!(succeeded, "{message}");
    whole.stop().await;
    let (succeeded, message) = run_explorer(&["check", "--data", data, "--rpc", &node.url()]).await;
    assert!(succeeded, "without the file of the genesis block: {message}");
    // The snapshot tells what the first block granted, without the file of the genesis block.
    let copy = Launch::run(&node.url()).argument("--bootstrap", file).start().await;
    assert_sums(&copy, node, 0, knows_genesis).await;
}

/// On both stores from the first block and from a later one, and after a bootstrap.
async fn assert_sums_everywhere(node: &ReplayNode, genesis: Option<&GenesisFile>) {
    let verified = || Launch::run(&node.url()).argument("--verify-blocks", "full");
    let launch = || genesis.map_or_else(verified, |file| file.given_to(verified()));
    let later = || launch().argument("--start-block", LATER);
    let server = Server::shared();
    let databases = [server.database().await, server.database().await];
    // At the same time: most of it is waiting.
    tokio::join!(
        assert_sums_after_a_bootstrap(node, launch(), genesis.is_some()),
        async { assert_sums(&later().start().await, node, LATER, false).await },
        async { assert_sums(&on_database(launch(), &databases[0]).start().await, node, 0, genesis.is_some()).await },
        async { assert_sums(&on_database(later(), &databases[1]).start().await, node, LATER, false).await },
    );
}

#[tokio::test]
async fn sums_hold_on_a_chain_with_deposits_withdrawals_blobs_and_fees_of_rollups() {
    let (drafts, beside) = modern();
    let (genesis, file) = beside.genesis();
    let node = ReplayNode::start_from(1, &genesis, &drafts).await.with_state(beside);
    assert_sums_everywhere(&node, Some(&file)).await;
}

#[tokio::test]
async fn sums_hold_on_a_chain_with_work_uncles_and_failures_before_byzantium() {
    let (drafts, beside) = early();
    let node = ReplayNode::start_from(1, &genesis_of_ethereum(), &drafts).await.with_state(beside);
    assert_sums_everywhere(&node, None).await;
}
