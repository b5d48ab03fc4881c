//! Encodes receipts and computes their blooms.

use std::collections::HashMap;

use alloy_primitives::{Address, B256, Bloom, keccak256};
use alloy_rlp::Encodable;
use foldhash::fast::RandomState;

use super::rlp::list;
use crate::decode::{RawLog, RawReceipt};

const DEPOSIT: u64 = 0x7e;

/// How the outcome of a transaction is encoded. The encodings never collide, so a correct root in any of them proves the
/// receipts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EncodedOutcome {
    /// Per specification, the status; before Byzantium the root of the state.
    AsServed,
    /// As ganache encodes a failure.
    FailureIsZeroByte,
    /// The root of the state, of a node that serves a status beside it.
    StateRoot,
}

/// Appends the encoding that the receipts root covers. None if the receipt lacks a field.
pub(super) fn encode(receipt: &RawReceipt, bloom: &Bloom, outcome: EncodedOutcome, out: &mut Vec<u8>) -> Option<()> {
    let gas = receipt.cumulative_gas_used?.0;
    let status = receipt.status.filter(|_| outcome != EncodedOutcome::StateRoot);
    let root = match (status, &receipt.root) {
        (Some(_), _) => None,
        (None, root) => Some(root.as_ref()?.get()?),
    };
    let tx_type = receipt.tx_type.map_or(0, |tx_type| tx_type.0);
    if tx_type != 0 {
        out.push(u8::try_from(tx_type).ok()?);
    }
    list(out, |out| {
        match (status, root) {
            (None, Some(root)) => root.encode(out),
            (Some(status), _) if status.0 == 0 && outcome == EncodedOutcome::FailureIsZeroByte => out.push(0),
            (status, _) => (status.unwrap_or_default().0 != 0).encode(out),
        }
        gas.encode(out);
        bloom.encode(out);
        list(out, |out| receipt.logs.iter().for_each(|log| encode_log(log, out)));
        // Before the receipt version field existed, the nonce was not part of the encoding.
        if let (DEPOSIT, Some(version)) = (tx_type, receipt.deposit_receipt_version) {
            receipt.deposit_nonce.unwrap_or_default().0.encode(out);
            version.0.encode(out);
        }
    });
    Some(())
}

fn encode_log(log: &RawLog, out: &mut Vec<u8>) {
    list(out, |out| {
        log.address.0.encode(out);
        list(out, |out| log.topics.iter().for_each(|topic| topic.0.encode(out)));
        log.data.0.encode(out);
    });
}

/// Computes the blooms of one block's receipts, hashing each distinct address and topic once.
#[derive(Debug, Default)]
pub(super) struct Blooms {
    addresses: HashMap<Address, B256, RandomState>,
    topics: HashMap<B256, B256, RandomState>,
}

impl Blooms {
    pub(super) fn of(&mut self, receipt: &RawReceipt) -> Bloom {
        let mut bloom = Bloom::ZERO;
        for log in &receipt.logs {
            let hash = self.addresses.entry(log.address.0).or_insert_with_key(|value| keccak256(value));
            bloom.m3_2048_hashed(hash);
            for topic in &log.topics {
                let hash = self.topics.entry(topic.0).or_insert_with_key(|value| keccak256(value));
                bloom.m3_2048_hashed(hash);
            }
        }
        bloom
    }
}
