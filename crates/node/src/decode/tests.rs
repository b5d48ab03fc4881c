//! Decodes blocks of several chains, and compares the result with serde_json.

use std::fmt::Write;

use alloy_primitives::{Address, address};
use domain::FetchedBlock;
use proptest::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};

use super::*;
use crate::verify::{arrange_receipts, check_block, join_receipts};

/// Reads a response with both parsers.
fn read<T: DeserializeOwned + PartialEq + std::fmt::Debug>(response: &str) -> T {
    #[derive(Deserialize)]
    struct Reference<T> {
        result: T,
    }
    let lean: T = decode(response.as_bytes()).unwrap().unwrap();
    let oracle: Reference<T> = serde_json::from_str(response).unwrap();
    assert_eq!(lean, oracle.result);
    lean
}

fn join(block: &str, receipts: &str) -> FetchedBlock {
    let block: RawBlock = read(block);
    check_block(block.number.0, &block).unwrap();
    let mut receipts: Vec<RawReceipt> = read(receipts);
    arrange_receipts(&block, &mut receipts).unwrap();
    join_receipts(block, receipts).unwrap()
}

macro_rules! fixture {
    ($name:literal) => {
        join(
            include_str!(concat!("../../fixtures/", $name, ".block.json")),
            include_str!(concat!("../../fixtures/", $name, ".receipts.json")),
        )
    };
}

fn account(number: u64) -> Address {
    Address::left_padding_from(&number.to_be_bytes())
}

#[test]
fn a_mainnet_block_with_every_type_of_transaction() {
    let FetchedBlock { block, transactions, logs, .. } = fixture!("mainnet");
    assert_eq!((block.number, block.tx_count, block.timestamp), (18_500_000, 7, 0x6554_d1a3));
    assert_eq!((block.gas_used, block.gas_limit, block.size), (12_532_765, 30_000_000, 0x1a2b3));
    assert_eq!(block.base_fee_per_gas, Some(30_000_000_000));
    assert_eq!(block.miner, account(0x9522_2290_dd72));

    let methods: Vec<_> = transactions.iter().map(|tx| tx.method).collect();
    let (transfer, swap) = ([0xa9, 0x05, 0x9c, 0xbb], [0x38, 0xed, 0x17, 0x39]);
    assert_eq!(methods, [None, Some(transfer), Some(swap), None, None, None, None]);
    let succeeded: Vec<_> = transactions.iter().map(|tx| tx.succeeded).collect();
    assert_eq!(succeeded, [true, true, true, true, false, true, false]);
    assert!(transactions.iter().all(|tx| tx.gas_price == 31_000_000_000), "from the receipt or the transaction");
    assert_eq!(transactions[1].value.to_string(), "0");
    assert_eq!(transactions[0].value.to_string(), "1000000000000000000");

    assert_eq!((transactions[5].to, transactions[5].created), (None, Some(account(0xc0de))));
    assert_eq!((transactions[6].to, transactions[6].created), (None, None), "a failed creation created nothing");
    assert_eq!(transactions[5].gas_used, 100_000, "leading zeros are accepted");

    let places: Vec<_> =
        logs.iter().map(|log| (log.tx_index, log.log_index, log.topics.len(), log.data.len())).collect();
    assert_eq!(places, [(1, 0, 3, 32), (2, 1, 3, 32), (2, 3, 0, 0), (5, 4, 1, 96)]);
}

#[test]
fn an_optimism_block_with_unsigned_deposits() {
    let FetchedBlock { transactions, .. } = fixture!("optimism");
    assert_eq!(transactions[0].from, address!("deaddeaddeaddeaddeaddeaddeaddeaddead0001"));
    assert_eq!((transactions[0].gas_price, transactions[0].nonce), (0, 3));
    assert_eq!((transactions[1].gas_price, transactions[1].nonce), (0, 0));
    assert_eq!(transactions[2].gas_price, 1_000_000, "the tip and the base fee, capped by the maximum fee");
}

#[test]
fn a_bsc_block_with_system_transactions_and_extra_fields() {
    let FetchedBlock { block, transactions, logs, .. } = fixture!("bsc");
    assert_eq!(block.base_fee_per_gas, None);
    assert_eq!(transactions[0].method, Some([0xa9, 0x05, 0x9c, 0xbb]), "data replaces a missing input");
    assert_eq!((transactions[1].gas_price, transactions[1].succeeded), (0, true));
    assert_eq!(logs[0].log_index, 17);
}

#[test]
fn a_receipt_with_a_state_root_instead_of_a_status_succeeded() {
    let FetchedBlock { transactions, .. } = fixture!("frontier");
    assert!(transactions[0].succeeded);
    assert_eq!(transactions[0].gas_price, 50_000_000_000_000);
}

#[test]
fn a_missing_gas_price_is_computed() {
    let mut block: RawBlock = read(include_str!("../../fixtures/mainnet.block.json"));
    let tx = &mut block.transactions[2];
    tx.gas_price = None;
    assert_eq!(tx.price_at(Some(30_000_000_000)), Some(31_000_000_000));
    assert_eq!(tx.price_at(Some(49_999_999_999)), Some(50_000_000_000));
}

#[test]
fn a_gas_price_that_cannot_be_told_is_not_zero() {
    let mut block: RawBlock = read(include_str!("../../fixtures/mainnet.block.json"));
    let mut receipts: Vec<RawReceipt> = read(include_str!("../../fixtures/mainnet.receipts.json"));
    receipts[2].effective_gas_price = None;
    let tx = &mut block.transactions[2];
    tx.gas_price = None;
    assert_eq!(tx.price_at(None), None, "without the base fee of its block");
    tx.max_priority_fee_per_gas = None;
    assert_eq!(tx.price_at(Some(1)), None, "without the tip");
    tx.tx_type = Some(Quantity(0x7e));
    assert_eq!(tx.price_at(Some(1)), Some(0), "a deposit has no price");
    tx.tx_type = Some(Quantity(0));
    let error = join_receipts(block, receipts).unwrap_err();
    assert_eq!(error.to_string(), "neither transaction 2 nor its receipt tells the gas price");
}

#[derive(Debug, Clone)]
struct AnyLog {
    topics: Vec<[u8; 32]>,
    data: Vec<u8>,
}

#[derive(Debug, Clone)]
struct AnyTransaction {
    to: Option<[u8; 20]>,
    value: u128,
    input: Vec<u8>,
    status: Option<bool>,
    price: Option<u64>,
    logs: Vec<AnyLog>,
}

prop_compose! {
    fn any_log()(topics in prop::collection::vec(any::<[u8; 32]>(), 0..5), data in prop::collection::vec(any::<u8>(), 0..100)) -> AnyLog {
        AnyLog { topics, data }
    }
}

prop_compose! {
    fn any_transaction()(
        to in any::<Option<[u8; 20]>>(), value in any::<u128>(), input in prop::collection::vec(any::<u8>(), 0..80),
        status in any::<Option<bool>>(), price in any::<Option<u64>>(), logs in prop::collection::vec(any_log(), 0..6),
    ) -> AnyTransaction {
        AnyTransaction { to, value, input, status, price, logs }
    }
}

fn hex(bytes: &[u8]) -> String {
    alloy_primitives::hex::encode_prefixed(bytes)
}

/// The two responses of a node for a block with these transactions.
fn responses(transactions: &[AnyTransaction], extra: &str) -> (String, String) {
    let hash = hex(&[0xb1; 32]);
    let (mut block, mut receipts, mut log_index) = (String::new(), String::new(), 0);
    for (index, tx) in transactions.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let tx_hash = format!("{index:#066x}");
        let to = tx.to.map_or("null".to_owned(), |to| format!("{:?}", hex(&to)));
        write!(
            block,
            r#"{comma}{{"hash":"{tx_hash}","blockHash":"{hash}","from":"{:#042x}","to":{to},"value":"{:#x}","nonce":"0x1","gasPrice":"0x5","input":"{}",{extra}"r":"0x1"}}"#,
            index, tx.value, hex(&tx.input),
        )
        .unwrap();
        let mut logs = Vec::new();
        for log in &tx.logs {
            let topics: Vec<String> = log.topics.iter().map(|topic| format!("{:?}", hex(topic))).collect();
            logs.push(format!(
                r#"{{"address":"{:#042x}","topics":[{}],"data":"{}",{extra}"logIndex":"{log_index:#x}","blockHash":"{hash}","removed":false}}"#,
                log_index, topics.join(" , "), hex(&log.data),
            ));
            log_index += 1;
        }
        let outcome = match tx.status {
            Some(status) => format!(r#""status":"{:#x}""#, u8::from(status)),
            None => r#""root":"0x12""#.to_owned(),
        };
        let price = tx.price.map_or("null".to_owned(), |price| format!(r#""{price:#x}""#));
        write!(
            receipts,
            r#"{comma}{{"transactionHash":"{tx_hash}","transactionIndex":"{index:#x}","blockHash":"{hash}",{extra}"gasUsed":"0x5208","contractAddress":null,"effectiveGasPrice":{price},{outcome},"logs":[{}]}}"#,
            logs.join(",\n"),
        )
        .unwrap();
    }
    let header = format!(
        r#""number":"0x7","hash":"{hash}","parentHash":"{hash}","timestamp":"0x1","miner":"{:#042x}","gasUsed":"0x1","gasLimit":"0x2""#,
        7
    );
    (
        format!(r#"{{"id":1,"result":{{{header},{extra}"transactions":[{block}]}}}}"#),
        format!(r#"{{"result":[{receipts}],"id":2}}"#),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_block_decodes_like_serde_json(
        transactions in prop::collection::vec(any_transaction(), 0..12),
        extra in prop::sample::select(vec!["", r#""logsBloom":"0x00","#, r#""accessLists":[{"address":"0x","storageKeys":["\"{"]}],"#, r#""accessList":[{"address":"0x0000000000000000000000000000000000000007","storageKeys":[]}],"#, r#""éxtra\n":1.5e3,"#]),
    ) {
        let (block, receipts) = responses(&transactions, extra);
        let fetched = join(&block, &receipts);
        prop_assert_eq!(fetched.transactions.len(), transactions.len());
        for (found, made) in fetched.transactions.iter().zip(&transactions) {
            prop_assert_eq!(found.value.to_string(), made.value.to_string());
            prop_assert_eq!(found.succeeded, made.status.unwrap_or(true));
            prop_assert_eq!(found.gas_price, made.price.map_or(5, u128::from));
            let method = made.to.and_then(|_| made.input.first_chunk::<4>().copied());
            prop_assert_eq!(found.method, method);
        }
        let made: Vec<&AnyLog> = transactions.iter().flat_map(|tx| &tx.logs).collect();
        prop_assert_eq!(fetched.logs.len(), made.len());
        for (found, made) in fetched.logs.iter().zip(made) {
            prop_assert_eq!(&found.data[..], &made.data[..]);
            prop_assert_eq!(found.topics.len(), made.topics.len());
        }
    }

    #[test]
    fn a_damaged_response_never_panics(cut in 0usize..8_000, flip in 0usize..8_000, byte in any::<u8>()) {
        let whole = include_str!("../../fixtures/mainnet.block.json").as_bytes();
        prop_assert!(decode::<RawBlock>(&whole[..cut.min(whole.len() - 2)]).is_err());
        let mut damaged = whole.to_vec();
        damaged[flip] = byte;
        let _ = decode::<RawBlock>(&damaged);
    }
}

#[test]
fn a_block_with_five_thousand_logs_is_decoded() {
    let log = AnyLog { topics: vec![[1; 32]; 3], data: vec![7; 32] };
    let tx = AnyTransaction {
        to: Some([2; 20]),
        value: 1,
        input: vec![1; 68],
        status: Some(true),
        price: Some(1),
        logs: vec![log; 25],
    };
    let (block, receipts) = responses(&vec![tx; 200], "");
    let fetched = join(&block, &receipts);
    assert_eq!((fetched.transactions.len(), fetched.logs.len()), (200, 5_000));
    assert_eq!((fetched.logs[4_999].tx_index, fetched.logs[4_999].log_index), (199, 4_999));
}
