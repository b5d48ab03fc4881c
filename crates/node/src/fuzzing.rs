//! Entry points of the fuzz targets: decode node responses from arbitrary bytes.

use std::{
    fmt::Debug,
    sync::{Arc, LazyLock},
};

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use domain::FetchedBlock;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

use crate::{
    decode::{
        CappedBytes, Hash, HexBytes, MAX_DEPTH, Quantity, RawBlock, RawBlockCalls, RawCallCreations, RawCallTree,
        RawFlatCalls, RawFlatCreations, RawGenesis, RawReceipt, RawStateChanges, ResponseError, Wide, decode,
        split_batch,
    },
    traced::{InternalCall, TracedTransaction},
    verify::{BlockChecks, BlockVerifier, Evidence, arrange_receipts, check_block, join_receipts},
};

/// Maximum length of a message about an unreadable response.
const MAX_MESSAGE: usize = 4_096;

/// A response with a small result, or one to a batch of up to four calls with ids from 7.
pub fn rpc_answer(response: &[u8]) {
    let read: Option<Value> = serde_json::from_slice(response).ok();
    let ignored = decode::<IgnoredAny>(response);
    bounded(&ignored);
    if let Some(value) = &read {
        agrees(&ignored.map(|result| result.map(drop)), value);
    }
    let result = read.as_ref().and_then(|value| value.get("result")?.as_str());
    let quantity = decode::<Quantity>(response);
    if let (Ok(Some(Quantity(number))), Some(text)) = (&quantity, result) {
        assert_eq!(unsigned(text), Some(U256::from(*number)), "{text}");
    }
    if let (Ok(Some(Wide(number))), Some(text)) = (decode::<Wide>(response), result) {
        assert_eq!(unsigned(text), Some(number), "{text}");
    }
    if let (Ok(Some(HexBytes(bytes))), Some(text)) = (decode::<HexBytes>(response), result) {
        assert_eq!(strict_hex(text).as_deref(), Some(&bytes[..]), "{text}");
    }
    if let (Ok(Some(CappedBytes::Bytes(bytes))), Some(text)) = (decode::<CappedBytes>(response), result) {
        assert!(bytes.len() <= CappedBytes::MAX);
        assert_eq!(strict_hex(text).as_deref(), Some(&bytes[..]), "{text}");
    }
    if let (Ok(Some(Hash(hash))), Some(text)) = (decode::<Hash>(response), result) {
        assert_eq!(strict_hex(text).as_deref(), Some(hash.as_slice()), "{text}");
    }
    for calls in 1..=4 {
        batch(response, calls, read.as_ref());
    }
}

/// Asserts that serde_json reads the same response.
fn agrees(response: &Result<Option<()>, ResponseError>, value: &Value) {
    let result = value.get("result");
    match response {
        Ok(None) => assert!(result.is_some_and(Value::is_null), "{value}"),
        Ok(Some(())) => assert!(result.is_some_and(|result| !result.is_null()), "{value}"),
        Err(ResponseError::Rpc(error)) => {
            let expected = &value["error"];
            assert!(expected.is_object(), "{value}");
            assert_eq!(error.code, expected["code"].as_i64().unwrap_or_default(), "{value}");
            assert_eq!(error.message, expected["message"].as_str().unwrap_or_default(), "{value}");
        }
        Err(ResponseError::Unreadable(_)) => {}
    }
}

fn batch(response: &[u8], calls: usize, read: Option<&Value>) {
    const FIRST_ID: u64 = 7;
    let items = split_batch(response, FIRST_ID, calls);
    bounded(&items);
    let Ok(items) = items else { return };
    assert_eq!(items.len(), calls);
    let Some(responses) = read.and_then(Value::as_array) else { return };
    for (id, item) in (FIRST_ID..).zip(items) {
        // Of two responses with the same id, the last counts.
        let Some(own) = responses.iter().rfind(|response| response["id"] == id) else { panic!("a response for {id}") };
        match item {
            Ok(json) => {
                let json: Value = serde_json::from_str(&json).expect("a result is JSON");
                assert_eq!(json, own["result"]);
            }
            Err(error) => assert_eq!(error.message, own["error"]["message"].as_str().unwrap_or_default()),
        }
    }
}

fn bounded<T>(read: &Result<T, ResponseError>) {
    if let Err(ResponseError::Unreadable(message)) = read {
        assert!(message.len() <= MAX_MESSAGE && !message.contains('\n'), "{message}");
    }
}

fn unsigned(text: &str) -> Option<U256> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    if digits.is_empty() {
        return Some(U256::ZERO);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    U256::from_str_radix(digits, 16).ok()
}

fn strict_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    hex::decode(digits).ok()
}

/// A response with a trace, in each of the known formats.
pub fn rpc_trace(response: &[u8]) {
    reads_alike::<RawBlockCalls>(response);
    reads_alike::<RawCallCreations>(response);
    reads_alike::<RawFlatCreations>(response);
    reads_alike::<RawCallTree>(response);
    reads_alike::<RawStateChanges>(response);
    if let Ok(Some(RawBlockCalls(traces))) = decode::<RawBlockCalls>(response) {
        let calls: usize = traces.iter().map(|traced| traced.calls.len()).sum();
        assert!(traces.len() + calls <= response.len(), "more is read than was written");
    }
}

/// A response of `trace_block`. What is inside a failed call failed, too.
pub fn rpc_flat_trace(response: &[u8]) {
    reads_alike::<RawFlatCalls>(response);
    let Ok(Some(RawFlatCalls(transactions))) = decode::<RawFlatCalls>(response) else { return };
    let read: usize = transactions.iter().map(|traced| 1 + traced.calls.len()).sum();
    assert!(read <= response.len(), "more is read than was written");
    assert!(transactions.iter().map(|traced| traced.hash).is_sorted_by(|before, after| before != after));
    for TracedTransaction { calls, .. } in &transactions {
        for (position, call) in calls.iter().enumerate() {
            assert!((1..=MAX_DEPTH).contains(&call.path.len()));
            assert!(call.error.as_ref().is_none_or(|error| error.len() <= MAX_MESSAGE));
            let is_around = |outer: &&InternalCall| {
                outer.path.len() < call.path.len() && call.path.starts_with(&outer.path) && outer.error.is_some()
            };
            let failed = calls.iter().take(position).find(is_around);
            assert!(failed.is_none() || call.error.is_some(), "{call:?} inside {failed:?}");
        }
    }
}

/// Asserts that decoding is deterministic and its error message bounded.
fn reads_alike<'a, T: Deserialize<'a> + PartialEq + Debug>(response: &'a [u8]) {
    let read = decode::<T>(response);
    bounded(&read);
    assert_eq!(decode::<T>(response), read);
}

/// The ASCII record separator, which does not occur in JSON.
const BETWEEN: u8 = 0x1e;

/// A response with a block and, after a record separator, one with its receipts.
pub fn rpc_block(responses: &[u8]) {
    let mut parts = responses.splitn(2, |byte| *byte == BETWEEN);
    let (block, receipts) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    reads_alike::<RawBlock>(block);
    let _ = decode::<RawGenesis>(block);
    reads_alike::<Vec<RawReceipt>>(receipts);
    let Some((fetched, proven)) = fetch(block, receipts) else { return };
    assert_eq!(fetched.transactions.len(), fetched.block.tx_count as usize);
    assert!(fetched.logs.is_sorted_by(|before, after| before.log_index < after.log_index));
    if let Some(known) = KNOWN.as_ref().filter(|known| proven && known.block.hash == fetched.block.hash) {
        assert_eq!(committed(&fetched), committed(known), "a hash proves one block only");
    }
}

/// The block as the client would return it, and whether it was fully proven.
fn fetch(block: &[u8], receipts: &[u8]) -> Option<(FetchedBlock, bool)> {
    let block: RawBlock = decode(block).ok()??;
    let mut receipts: Vec<RawReceipt> = decode(receipts).ok()??;
    check_block(block.number.0, &block).ok()?;
    arrange_receipts(&block, &mut receipts).ok()?;
    let evidence = Arc::new(Evidence::default());
    evidence.header_proven();
    let verifier = BlockVerifier::new(BlockChecks::Full, Arc::clone(&evidence), "node".to_owned());
    verifier.verify_block(&block, &receipts).ok()?;
    let proven = evidence.unproven_blocks() == 0;
    Some((join_receipts(block, receipts).ok()?, proven))
}

type CommittedTransaction = (B256, Option<Address>, U256, u64, bool, Option<[u8; 4]>);
type CommittedLog = (Address, Vec<B256>, Bytes);
type Committed = ([B256; 2], Address, [u64; 4], Option<u128>, Vec<CommittedTransaction>, Vec<CommittedLog>);

/// The fields that the hash of a block commits to.
fn committed(fetched: &FetchedBlock) -> Committed {
    let FetchedBlock { block, transactions, logs, .. } = fetched;
    let transactions = transactions.iter().map(|tx| (tx.hash, tx.to, tx.value, tx.nonce, tx.succeeded, tx.method));
    let logs = logs.iter().map(|log| (log.address, log.topics.to_vec(), log.data.clone()));
    let numbers = [block.number, block.timestamp, block.gas_used, block.gas_limit];
    let hashes = [block.hash, block.parent_hash];
    (hashes, block.miner, numbers, block.base_fee_per_gas, transactions.collect(), logs.collect())
}

/// A block of anvil with every type of transaction and correct hashes.
static KNOWN: LazyLock<Option<FetchedBlock>> = LazyLock::new(|| {
    let responses = include_bytes!("../../../fuzz/corpus/rpc_block/proven");
    let mut parts = responses.splitn(2, |byte| *byte == BETWEEN);
    let known = fetch(parts.next()?, parts.next()?);
    assert!(known.as_ref().is_some_and(|(_, proven)| *proven), "the known block is proven");
    known.map(|(fetched, _)| fetched)
});
