//! Encodes transactions: the hash of the encoding is the transaction hash.

use alloy_primitives::{U256, keccak256};
use alloy_rlp::Encodable;

use super::rlp::list;
use crate::decode::{RawAccess, RawAuthorization, RawBlock, RawReceipt, RawTransaction};

/// Encoding of an absent field.
const NOTHING: u8 = 0x80;

/// Offset of `v` before EIP-155.
const OLD_PARITY: u64 = 27;

/// Transaction types with a known encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum TxType {
    Legacy = 0,
    Eip2930 = 1,
    Eip1559 = 2,
    Eip4844 = 3,
    Eip7702 = 4,
    /// OP-stack L1 deposit, unsigned.
    Deposit = 0x7e,
}

impl TxType {
    /// None: a chain-specific type, or a known type with chain-specific fields.
    pub(super) fn of(tx: &RawTransaction) -> Option<Self> {
        let chain_specific = [&tx.eth_value, &tx.eth_tx_value, &tx.gateway_fee];
        if tx.fee_currency.is_some() || chain_specific.iter().any(|field| field.is_some()) {
            return None;
        }
        match tx.tx_type.map_or(0, |tx_type| tx_type.0) {
            0 => Some(Self::Legacy),
            1 => Some(Self::Eip2930),
            2 => Some(Self::Eip1559),
            3 => Some(Self::Eip4844),
            4 => Some(Self::Eip7702),
            // Other chains use the same number for deposits of another form.
            0x7e if tx.source_hash.is_some() => Some(Self::Deposit),
            _ => None,
        }
    }
}

/// Whether it brings coins from the chain below.
pub(super) fn is_deposit(tx: &RawTransaction) -> bool {
    tx.tx_type.is_some_and(|tx_type| tx_type.0 == TxType::Deposit as u64)
}

/// Appends the encoding. None if a field of the type is missing; `out` is then incomplete.
pub(super) fn encode(tx: &RawTransaction, tx_type: TxType, out: &mut Vec<u8>) -> Option<()> {
    if tx_type != TxType::Legacy {
        out.push(tx_type as u8);
    }
    let mut complete = true;
    list(out, |out| complete = encode_fields(tx, tx_type, out).is_some());
    complete.then_some(())
}

fn encode_fields(tx: &RawTransaction, tx_type: TxType, out: &mut Vec<u8>) -> Option<()> {
    if tx_type == TxType::Deposit {
        tx.source_hash?.0.encode(out);
        tx.from.0.encode(out);
        encode_to(tx, out);
        tx.mint.unwrap_or_default().0.encode(out);
        tx.value?.0.encode(out);
        tx.gas?.0.encode(out);
        tx.is_system_tx.unwrap_or_default().encode(out);
        tx.call_data().encode(out);
        return Some(());
    }
    if tx_type != TxType::Legacy {
        tx.chain_id?.0.encode(out);
    }
    tx.nonce?.0.encode(out);
    if matches!(tx_type, TxType::Legacy | TxType::Eip2930) {
        tx.gas_price?.0.encode(out);
    } else {
        tx.max_priority_fee_per_gas?.0.encode(out);
        tx.max_fee_per_gas?.0.encode(out);
    }
    tx.gas?.0.encode(out);
    encode_to(tx, out);
    tx.value?.0.encode(out);
    tx.call_data().encode(out);
    if tx_type != TxType::Legacy {
        // Some nodes omit an empty one.
        let entries = tx.access_list.as_deref().unwrap_or_default();
        list(out, |out| entries.iter().for_each(|entry| encode_access(entry, out)));
    }
    if tx_type == TxType::Eip4844 {
        tx.max_fee_per_blob_gas?.0.encode(out);
        let hashes = tx.blob_versioned_hashes.as_ref()?;
        list(out, |out| hashes.iter().for_each(|hash| hash.0.encode(out)));
    }
    if tx_type == TxType::Eip7702 {
        let entries = tx.authorization_list.as_ref()?;
        list(out, |out| entries.iter().for_each(|entry| encode_authorization(entry, out)));
    }
    if tx_type == TxType::Legacy { tx.v?.0 } else { parity(tx)? }.encode(out);
    tx.r?.0.encode(out);
    tx.s?.0.encode(out);
    Some(())
}

/// Hardhat returns 27 and 28 for impersonated senders, but encodes 0 and 1.
fn parity(tx: &RawTransaction) -> Option<U256> {
    let v = tx.y_parity.map(|parity| U256::from(parity.0)).or(tx.v.map(|v| v.0))?;
    let is_pre_eip155 = v == U256::from(OLD_PARITY) || v == U256::from(OLD_PARITY + 1);
    Some(if is_pre_eip155 { v - U256::from(OLD_PARITY) } else { v })
}

fn encode_to(tx: &RawTransaction, out: &mut Vec<u8>) {
    match tx.to {
        Some(to) => to.0.encode(out),
        None => out.push(NOTHING),
    }
}

fn encode_access(entry: &RawAccess, out: &mut Vec<u8>) {
    list(out, |out| {
        entry.address.0.encode(out);
        list(out, |out| entry.storage_keys.iter().for_each(|key| key.0.encode(out)));
    });
}

fn encode_authorization(entry: &RawAuthorization, out: &mut Vec<u8>) {
    list(out, |out| {
        entry.chain_id.0.encode(out);
        entry.address.0.encode(out);
        entry.nonce.0.encode(out);
        entry.y_parity.or(entry.v).unwrap_or_default().0.encode(out);
        entry.r.0.encode(out);
        entry.s.0.encode(out);
    });
}

/// Whether the hash matches the encoding, or anvil's variant for impersonated senders, which also hashes the sender.
pub(super) fn hash_matches(tx: &RawTransaction, tx_type: TxType, encoding: &[u8]) -> bool {
    if keccak256(encoding) == tx.hash.0 {
        return true;
    }
    let mut impersonated = Vec::with_capacity(encoding.len() + 32);
    if tx_type == TxType::Legacy {
        impersonated.extend_from_slice(encoding);
    } else {
        encoding.encode(&mut impersonated);
    }
    impersonated.extend_from_slice(tx.from.0.as_slice());
    keccak256(impersonated) == tx.hash.0
}

/// The transactions covered by the header's roots, with their receipts. Polygon appends a synthetic state-sync
/// transaction that no root contains.
pub(super) fn covered_by_roots<'a>(
    block: &'a RawBlock,
    receipts: &'a [RawReceipt],
) -> (&'a [RawTransaction], &'a [RawReceipt]) {
    let made_up = || {
        let preimage = [b"matic-bor-receipt-".as_slice(), &block.number.0.to_be_bytes(), block.hash.0.as_slice()];
        keccak256(preimage.concat())
    };
    match (block.transactions.split_last(), receipts.split_last()) {
        (Some((last, transactions)), Some((_, receipts))) if is_unsigned(last) && last.hash.0 == made_up() => {
            (transactions, receipts)
        }
        _ => (&block.transactions, receipts),
    }
}

pub(super) fn is_unsigned(tx: &RawTransaction) -> bool {
    [tx.r, tx.s].iter().all(|part| part.is_none_or(|part| part.0.is_zero())) && tx.source_hash.is_none()
}
