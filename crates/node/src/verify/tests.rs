//! Blocks with correct hashes (of anvil with every type of transaction, the genesis block of Ethereum, a deposit of OP
//! Mainnet, and others): any change of their content must be detected.

use std::sync::Arc;

use alloy_primitives::{b256, hex, keccak256};
use serde_json::{Value, json};

use super::*;
use crate::{
    decode::{Quantity, RawGenesis, decode},
    verify::arrange_receipts,
};

const BLOCK: &str = include_str!("../../fixtures/anvil.block.json");
const RECEIPTS: &str = include_str!("../../fixtures/anvil.receipts.json");
/// The transactions root and hash of the block: correct, and as computed by anvil.
const ROOTS: [&str; 2] = [
    "0x2cc911a832d0096a32ffca639a48a5b500f0b95126579c54a9f1c6e2e67b7dd8",
    "0xf3e6bce06b29fa341d8b64bae4a69e2eca08f2fa30ed74c8022690799fb3935f",
];
const HASHES: [&str; 2] = [
    "0x730381ef733fb527abaa363127df951490928209ae04b6679e5723f2bef04aaf",
    "0xac31c975be8bc77db9107fdf23140bdf14b83fd78333e17879bffe7f92b326c2",
];

/// The responses of a node for one block.
struct Served {
    block: Value,
    receipts: Value,
    evidence: Arc<Evidence>,
}

impl Served {
    /// Of a chain that is known to hash headers like Ethereum.
    fn of_known_chain() -> Self {
        let served = Self::of_unknown_chain();
        served.evidence.header_proven();
        served.evidence.blob_root_proven();
        served
    }

    fn of_unknown_chain() -> Self {
        let right = |text: &str| text.replace(ROOTS[1], ROOTS[0]).replace(HASHES[1], HASHES[0]);
        Self::from_anvil(right)
    }

    /// As anvil returned it, with blob sidecars in the transactions root, and then changed.
    fn from_anvil(change: impl Fn(&str) -> String) -> Self {
        let read = |text| serde_json::from_str::<Value>(&change(text)).unwrap();
        Self { block: read(BLOCK), receipts: read(RECEIPTS), evidence: Arc::default() }
    }

    fn with(mut self, change: impl FnOnce(&mut Value, &mut Value)) -> Self {
        change(&mut self.block["result"], &mut self.receipts["result"]);
        self
    }

    fn verify(&self, checks: BlockChecks) -> Result<(), Contradiction> {
        let block: RawBlock = decode(self.block.to_string().as_bytes()).unwrap().unwrap();
        let mut receipts: Vec<RawReceipt> = decode(self.receipts.to_string().as_bytes()).unwrap().unwrap();
        arrange_receipts(&block, &mut receipts).unwrap();
        let verifier = BlockVerifier::new(checks, Arc::clone(&self.evidence), "node".to_owned());
        match checks {
            BlockChecks::Off => verifier.verify_block(&block, &receipts),
            checks => verifier.verify_with(checks, &block, &receipts),
        }
    }

    fn refusal(&self, checks: BlockChecks) -> Option<BlockCheck> {
        self.verify(checks).err().map(|contradiction| contradiction.check)
    }
}

const EMPTY: &str = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

#[test]
fn a_valid_block_with_every_transaction_type_is_proven() {
    let served = Served::of_unknown_chain();
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    assert_eq!(served.evidence.unproven_blocks(), 0);
    assert!(served.evidence.headers_are_hashed_as_ethereums() && served.evidence.has_blooms());
    for tx_type in [TxType::Legacy, TxType::Eip2930, TxType::Eip1559, TxType::Eip4844, TxType::Eip7702] {
        assert!(served.evidence.has_proven(tx_type), "{tx_type:?}");
    }
}

#[test]
fn a_root_with_sidecars_is_accepted_until_the_chain_shows_a_correct_one() {
    let served = Served::from_anvil(str::to_owned);
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    assert_eq!(served.evidence.unproven_blocks(), 1);
    served.evidence.blob_root_proven();
    assert_eq!(served.refusal(BlockChecks::Full), Some(BlockCheck::TransactionsRoot));
}

#[test]
fn a_block_without_its_transactions_is_rejected() {
    let empty = |block: &mut Value, receipts: &mut Value| {
        block["transactions"] = json!([]);
        *receipts = json!([]);
    };
    assert_eq!(Served::of_known_chain().with(empty).refusal(BlockChecks::Cheap), Some(BlockCheck::TransactionsRoot));
    // If the header is changed as well, its hash no longer matches.
    let consistently_empty = |block: &mut Value, receipts: &mut Value| {
        empty(block, receipts);
        block["transactionsRoot"] = json!(EMPTY);
        block["receiptsRoot"] = json!(EMPTY);
        block["gasUsed"] = json!("0x0");
        block["logsBloom"] = json!(format!("0x{}", "00".repeat(256)));
    };
    assert_eq!(
        Served::of_known_chain().with(consistently_empty).refusal(BlockChecks::Cheap),
        Some(BlockCheck::HeaderHash)
    );
}

#[test]
fn cheap_checks_run_at_every_level() {
    type Change = fn(&mut Value, &mut Value);
    let changes: [(BlockCheck, Change); 12] = [
        (BlockCheck::TransactionsRoot, |block, _| block["transactionsRoot"] = json!(EMPTY)),
        (BlockCheck::ReceiptsRoot, |block, _| block["receiptsRoot"] = json!(EMPTY)),
        (BlockCheck::GasUsed, |_, receipts| receipts[8]["cumulativeGasUsed"] = json!("0x1")),
        (BlockCheck::GasUsed, |_, receipts| {
            receipts[8].as_object_mut().unwrap().remove("cumulativeGasUsed");
        }),
        (BlockCheck::LogsBloom, |_, receipts| receipts[2]["logs"] = json!([])),
        (BlockCheck::LogsBloom, |_, receipts| {
            receipts[2]["logs"][0]["address"] = json!("0x00000000000000000000000000000000000000bb");
        }),
        (BlockCheck::LogsBloom, |_, receipts| {
            receipts[2]["logs"][0]["topics"][1] = json!(format!("0x{}", "77".repeat(32)));
        }),
        (BlockCheck::TransactionHash, |block, _| block["transactions"][0]["value"] = json!("0x6")),
        (BlockCheck::TransactionHash, |block, _| block["transactions"][2]["input"] = json!("0x60")),
        (BlockCheck::TransactionHash, |block, _| block["transactions"][4]["accessList"] = json!([])),
        (BlockCheck::TransactionHash, |block, _| {
            block["transactions"][6]["to"] = json!("0x00000000000000000000000000000000000000bb");
        }),
        (BlockCheck::HeaderHash, |block, _| block["miner"] = json!("0x00000000000000000000000000000000000000bb")),
    ];
    for (position, (check, change)) in changes.into_iter().enumerate() {
        for checks in [BlockChecks::Cheap, BlockChecks::Full] {
            assert_eq!(
                Served::of_known_chain().with(change).refusal(checks),
                Some(check),
                "change {position}, {checks:?}"
            );
        }
        assert_eq!(Served::of_known_chain().with(change).verify(BlockChecks::Off), Ok(()));
    }
}

#[test]
fn full_checks_detect_what_only_the_roots_reveal() {
    let data: fn(&mut Value, &mut Value) =
        |_, receipts| receipts[2]["logs"][0]["data"] = json!(format!("0x{}", "99".repeat(32)));
    let status: fn(&mut Value, &mut Value) = |_, receipts| receipts[0]["status"] = json!("0x0");
    for change in [data, status] {
        assert_eq!(Served::of_known_chain().with(change).verify(BlockChecks::Cheap), Ok(()));
        assert_eq!(Served::of_known_chain().with(change).refusal(BlockChecks::Full), Some(BlockCheck::ReceiptsRoot));
    }
    let one_omitted = |block: &mut Value, receipts: &mut Value| {
        block["transactions"].as_array_mut().unwrap().remove(3);
        receipts.as_array_mut().unwrap().remove(3);
        for index in 3..8 {
            block["transactions"][index]["transactionIndex"] = json!(format!("{index:#x}"));
            receipts[index]["transactionIndex"] = json!(format!("{index:#x}"));
        }
    };
    assert_eq!(
        Served::of_known_chain().with(one_omitted).refusal(BlockChecks::Full),
        Some(BlockCheck::TransactionsRoot)
    );
}

#[test]
fn blocks_near_the_head_are_fully_checked_and_older_ones_sampled() {
    let served = Served::of_known_chain().with(|_, receipts| receipts[0]["status"] = json!("0x0"));
    let block: RawBlock = decode(served.block.to_string().as_bytes()).unwrap().unwrap();
    let receipts: Vec<RawReceipt> = decode(served.receipts.to_string().as_bytes()).unwrap().unwrap();
    let verifier = BlockVerifier::new(BlockChecks::Cheap, Arc::clone(&served.evidence), "node".to_owned());
    let refused = || (0..1_000).filter(|_| verifier.verify_block(&block, &receipts).is_err()).count();
    // The block is number 1.
    served.evidence.see_head(1 + NEAR_HEAD);
    assert_eq!(refused(), 1_000);
    served.evidence.see_head(2 + NEAR_HEAD);
    // About 62 expected; none or all has a probability of 1 in 10^28.
    assert!((1..500).contains(&refused()));
}

#[test]
fn a_header_with_unknown_fields_is_unproven_but_its_known_fields_are_checked() {
    let foreign = |block: &mut Value, _: &mut Value| {
        block["extDataHash"] = json!("0x01");
        block["hash"] = json!(format!("0x{}", "11".repeat(32)));
    };
    let rehash = |block: &mut Value, receipts: &mut Value| {
        let hash = block["hash"].clone();
        for index in 0..9 {
            block["transactions"][index]["blockHash"] = hash.clone();
            receipts[index]["blockHash"] = hash.clone();
        }
    };
    let served = Served::of_known_chain().with(foreign).with(rehash);
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    assert_eq!(served.evidence.unproven_blocks(), 1);
    let changed = served.with(|_, receipts| receipts[2]["logs"] = json!([]));
    assert_eq!(changed.refusal(BlockChecks::Full), Some(BlockCheck::LogsBloom));
    // Without an unknown field, a different hash is an error.
    let renamed = Served::of_known_chain().with(|block, _| block["hash"] = json!(format!("0x{}", "11".repeat(32))));
    assert_eq!(renamed.with(rehash).refusal(BlockChecks::Cheap), Some(BlockCheck::HeaderHash));
}

#[test]
fn a_chain_with_a_different_header_hash_is_accepted_as_unproven() {
    let served = Served::of_unknown_chain().with(|block, receipts| {
        block["stateRoot"] = json!(format!("0x{}", "00".repeat(32)));
        block["receiptsRoot"] = json!(EMPTY);
        receipts[8]["cumulativeGasUsed"] = json!("0x0");
    });
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    assert!(served.evidence.unproven_blocks() > 0);
}

#[test]
fn the_header_hash_replaces_a_zeroed_bloom() {
    let blank = |block: &mut Value, _: &mut Value| block["logsBloom"] = json!(format!("0x{}", "00".repeat(256)));
    assert_eq!(Served::of_known_chain().with(blank).verify(BlockChecks::Full), Ok(()));
    let missing = |block: &mut Value, _: &mut Value| drop(block.as_object_mut().unwrap().remove("logsBloom"));
    assert_eq!(Served::of_known_chain().with(missing).verify(BlockChecks::Full), Ok(()));
    // Zeroing the bloom to hide a log is detected, since the header hash does not match either.
    let hidden = Served::of_known_chain().with(blank).with(|_, receipts| receipts[2]["logs"] = json!([]));
    assert_eq!(hidden.refusal(BlockChecks::Cheap), Some(BlockCheck::HeaderHash));
    // If the header cannot be proven, a zero bloom is accepted only on a chain that never showed one.
    let unprovable = |block: &mut Value, _: &mut Value| {
        block["newField"] = json!("0x1");
        block["extraData"] = json!("0xff");
    };
    let never_shown = Served::of_known_chain().with(blank).with(unprovable);
    assert_eq!(never_shown.verify(BlockChecks::Cheap), Ok(()));
    never_shown.evidence.bloom_seen();
    assert_eq!(never_shown.refusal(BlockChecks::Cheap), Some(BlockCheck::LogsBloom));
}

#[test]
fn an_unknown_transaction_type_is_accepted_as_unproven() {
    let served = Served::of_known_chain().with(|block, receipts| {
        block["transactions"][0]["type"] = json!("0x7c");
        receipts[0]["type"] = json!("0x7c");
    });
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    assert!(served.evidence.unproven_blocks() > 0);
}

#[test]
fn a_transaction_that_lacks_a_field_is_rejected_once_others_had_it() {
    let without =
        |block: &mut Value, _: &mut Value| drop(block["transactions"][8].as_object_mut().unwrap().remove("r"));
    assert_eq!(Served::of_known_chain().with(without).refusal(BlockChecks::Cheap), Some(BlockCheck::TransactionHash));
    let first = |block: &mut Value, _: &mut Value| drop(block["transactions"][0].as_object_mut().unwrap().remove("r"));
    assert_eq!(Served::of_known_chain().with(first).verify(BlockChecks::Cheap), Ok(()));
}

#[test]
fn the_state_sync_transaction_of_polygon_is_outside_the_roots() {
    let served = Served::of_known_chain().with(|block, receipts| {
        let hash: B256 = block["hash"].as_str().unwrap().parse().unwrap();
        let made_up = keccak256([b"matic-bor-receipt-".as_slice(), &1u64.to_be_bytes(), hash.as_slice()].concat());
        let zero = "0x0000000000000000000000000000000000000000";
        block["transactions"].as_array_mut().unwrap().push(json!({
            "hash": made_up.to_string(), "blockHash": hash.to_string(), "blockNumber": "0x1", "transactionIndex": "0x9", "from": zero, "to": zero,
            "value": "0x0", "nonce": "0x0", "gas": "0x0", "gasPrice": "0x0", "input": "0x", "type": "0x0",
            "v": "0x0", "r": "0x0", "s": "0x0",
        }));
        let mut receipt = receipts[2].clone();
        receipt["transactionHash"] = json!(made_up.to_string());
        receipt["transactionIndex"] = json!("0x9");
        receipt["cumulativeGasUsed"] = json!("0x0");
        receipt["logs"][0]["address"] = json!("0x0000000000000000000000000000000000001010");
        receipts.as_array_mut().unwrap().push(receipt);
    });
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    // Any other unsigned transaction is covered by the roots.
    let made_up = served.with(|block, receipts| {
        let other = json!(format!("0x{}", "22".repeat(32)));
        block["transactions"][9]["hash"] = other.clone();
        receipts[9]["transactionHash"] = other;
    });
    assert!(made_up.refusal(BlockChecks::Cheap).is_some());
}

/// The header of Ethereum's genesis block.
#[test]
fn the_genesis_block_shows_how_a_chain_hashes_headers() {
    let mut genesis = json!({
        "number": "0x0", "hash": "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
        "parentHash": format!("0x{}", "00".repeat(32)),
        "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
        "miner": "0x0000000000000000000000000000000000000000",
        "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
        "transactionsRoot": EMPTY, "receiptsRoot": EMPTY, "logsBloom": format!("0x{}", "00".repeat(256)),
        "difficulty": "0x400000000", "totalDifficulty": "0x400000000", "gasLimit": "0x1388", "gasUsed": "0x0", "timestamp": "0x0",
        "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
        "mixHash": format!("0x{}", "00".repeat(32)), "nonce": "0x0000000000000042", "size": "0x21c", "uncles": [],
        "transactions": [],
    });
    let shown = |genesis: &Value| {
        let response = json!({ "jsonrpc": "2.0", "id": 1, "result": genesis }).to_string();
        let read: RawGenesis = decode(response.as_bytes()).unwrap().unwrap();
        let verifier = BlockVerifier::new(BlockChecks::Cheap, Arc::default(), String::new());
        read.block.iter().for_each(|block| verifier.see_genesis(block));
        verifier.evidence().headers_are_hashed_as_ethereums()
    };
    assert!(shown(&genesis));
    // Some chains return a base fee that their headers do not have.
    genesis["baseFeePerGas"] = json!("0x7");
    assert!(shown(&genesis));
    genesis["gasLimit"] = json!("0x1389");
    assert!(!shown(&genesis));
    assert!(
        !shown(&json!({ "number": "0x0", "hash": genesis["hash"] })),
        "a header with only number and hash proves nothing"
    );
}

/// Checks the receipts root of a block before Byzantium, of a chain that is known to hash headers like Ethereum.
fn check_old_receipts(evidence: &Arc<Evidence>, change: impl Fn(&mut RawReceipt)) -> Result<(), Contradiction> {
    evidence.header_proven();
    let mut block: RawBlock = decode(include_bytes!("../../fixtures/frontier.block.json")).unwrap().unwrap();
    let read =
        || -> Vec<RawReceipt> { decode(include_bytes!("../../fixtures/frontier.receipts.json")).unwrap().unwrap() };
    let blooms: Vec<Bloom> = read().iter().map(|receipt| Blooms::default().of(receipt)).collect();
    let encode = |(receipt, bloom): (&RawReceipt, &Bloom)| {
        let mut out = Vec::new();
        receipt::encode(receipt, bloom, EncodedOutcome::AsServed, &mut out).unwrap();
        out
    };
    let encodings: Vec<_> = read().iter().zip(&blooms).map(encode).collect();
    let root = json!(ordered_trie_root_encoded(&encodings).to_string());
    block.receipts_root = Some(serde_json::from_value(root).unwrap());
    let mut receipts = read();
    receipts.iter_mut().for_each(change);
    let verifier = BlockVerifier::new(BlockChecks::Full, Arc::clone(evidence), "node".to_owned());
    verifier.check_receipts_root(&block, &receipts, &blooms)
}

#[test]
fn a_receipt_before_byzantium_without_its_root_leaves_its_block_unproven() {
    let checked = |change: fn(&mut RawReceipt)| {
        let evidence = Arc::default();
        (check_old_receipts(&evidence, change), evidence.unproven_blocks())
    };
    assert_eq!(checked(|_| {}), (Ok(()), 0));
    let both: fn(&mut RawReceipt) = |receipt| receipt.status = Some(Quantity(1));
    assert_eq!(checked(both), (Ok(()), 0), "the root is there");
    let instead: fn(&mut RawReceipt) = |receipt| (receipt.status, receipt.root) = (Some(Quantity(1)), None);
    assert_eq!(checked(instead), (Ok(()), 1));
    assert_eq!(checked(|receipt| receipt.root = None), (Ok(()), 1));
    // A younger block with a status says nothing of this one, an older one does.
    let number = 46_147;
    for (proven, is_refused) in [(number + 1, false), (number, true), (number - 1, true)] {
        let evidence = Arc::default();
        Evidence::status_proven(&evidence, proven + 7);
        evidence.status_proven(proven);
        let refused = check_old_receipts(&evidence, instead).err().map(|contradiction| contradiction.check);
        assert_eq!(refused, is_refused.then_some(BlockCheck::ReceiptsRoot));
    }
}

/// A block of ganache with one transaction, which failed.
fn from_ganache() -> Served {
    let read = |text| serde_json::from_str::<Value>(text).unwrap();
    let [block, receipts] =
        [include_str!("../../fixtures/ganache.block.json"), include_str!("../../fixtures/ganache.receipts.json")];
    Served { block: read(block), receipts: read(receipts), evidence: Arc::default() }
}

#[test]
fn a_failed_transaction_of_ganache_is_proven() {
    let served = from_ganache();
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    assert_eq!(served.evidence.unproven_blocks(), 0);
    type Change = fn(&mut Value, &mut Value);
    let changes: [Change; 2] =
        [|_, receipts| receipts[0]["status"] = json!("0x1"), |_, receipts| receipts[0]["type"] = json!("0x1")];
    for change in changes {
        assert_eq!(from_ganache().with(change).refusal(BlockChecks::Full), Some(BlockCheck::ReceiptsRoot));
    }
}

#[test]
fn the_genesis_block_of_hardhat_is_proven() {
    let block: Value = serde_json::from_str(include_str!("../../fixtures/hardhat.genesis.json")).unwrap();
    let served = Served { block, receipts: json!({"id": 1, "result": []}), evidence: Arc::default() };
    assert_eq!(served.verify(BlockChecks::Full), Ok(()));
    assert!(served.evidence.headers_are_hashed_as_ethereums());
    assert_eq!(served.evidence.unproven_blocks(), 0);
    // Every other difference is still detected.
    let changed = served.with(|block, _| block["transactionsRoot"] = json!(ROOTS[0]));
    assert_eq!(changed.refusal(BlockChecks::Full), Some(BlockCheck::TransactionsRoot));
}

#[test]
fn a_legacy_parity_is_normalised() {
    let parity = |block: &mut Value, _: &mut Value| {
        let transactions = block["transactions"].as_array_mut().unwrap();
        let typed = transactions.iter_mut().filter(|tx| tx["type"] != "0x0").map(|tx| tx.as_object_mut().unwrap());
        for tx in typed {
            let is_odd = tx["v"] == "0x1";
            tx.insert("v".to_owned(), json!(if is_odd { "0x1c" } else { "0x1b" }));
            tx.remove("yParity");
        }
    };
    assert_eq!(Served::of_known_chain().with(parity).verify(BlockChecks::Full), Ok(()));
}

/// The first deposit of an OP Mainnet block of 2023, as the chain encodes it.
#[test]
fn a_deposit_is_encoded() {
    let input = "015d8eb900000000000000000000000000000000000000000000000000000000008057650000000000000000000000000000000000000000000000000000000063d96d10000000000000000000000000000000000000000000000000000000000009f35273d89754a1e0387b89520d989d3be9c37c1f32495a88faf1ea05c61121ab0d1900000000000000000000000000000000000000000000000000000000000000010000000000000000000000002d679b567db6187c0c8323fa982cfb88b74dbcc7000000000000000000000000000000000000000000000000000000000000083400000000000000000000000000000000000000000000000000000000000f4240";
    let expected = hex::decode(format!("7ef9015aa044bae9d41b8380d781187b426c6fe43df5fb2fb57bd4466ef6a701e1f01e015694deaddeaddeaddeaddeaddeaddeaddeaddead000194420000000000000000000000000000000000001580808408f0d18001b90104{input}")).unwrap();
    let tx = json!({ "result": {
        "type": "0x7e", "hash": keccak256(&expected).to_string(), "from": "0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001",
        "to": "0x4200000000000000000000000000000000000015", "value": "0x0", "gas": "0x8f0d180", "gasPrice": "0x0",
        "nonce": "0x5", "input": format!("0x{input}"), "isSystemTx": true,
        "sourceHash": "0x44bae9d41b8380d781187b426c6fe43df5fb2fb57bd4466ef6a701e1f01e0156",
    }});
    let tx: RawTransaction = decode(tx.to_string().as_bytes()).unwrap().unwrap();
    let tx_type = TxType::of(&tx).unwrap();
    let mut encoding = Vec::new();
    transaction::encode(&tx, tx_type, &mut encoding).unwrap();
    assert_eq!(encoding, expected);
    assert!(transaction::hash_matches(&tx, tx_type, &encoding));
    assert_eq!(tx.hash.0, b256!("ef8cc21bdbab8d2b60b054460768b1db67c8906b6a2bdf9bc287b3654326fc76"));
}

/// As specified for OP chains: nonce and version follow the logs if there is a version.
#[test]
fn the_nonce_of_a_deposit_receipt_is_encoded_if_it_has_a_version() {
    let zero = B256::ZERO.to_string();
    let encoded = |version: Option<&str>| {
        let receipt = json!({ "result": {
            "type": "0x7e", "transactionHash": zero, "transactionIndex": "0x0", "blockHash": zero,
            "gasUsed": "0xb729", "cumulativeGasUsed": "0xb729", "status": "0x1", "logs": [], "depositNonce": "0x3d0a",
            "depositReceiptVersion": version,
        }});
        let receipt: RawReceipt = decode(receipt.to_string().as_bytes()).unwrap().unwrap();
        let mut out = Vec::new();
        receipt::encode(&receipt, &Bloom::ZERO, EncodedOutcome::AsServed, &mut out).unwrap();
        out
    };
    let bloom = "00".repeat(256);
    let before = hex::decode(format!("7ef901080182b729b90100{bloom}c0")).unwrap();
    let after = hex::decode(format!("7ef9010c0182b729b90100{bloom}c0823d0a01")).unwrap();
    assert_eq!(encoded(None), before);
    assert_eq!(encoded(Some("0x1")), after);
}
