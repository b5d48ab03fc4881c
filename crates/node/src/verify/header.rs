//! Computes header hashes.

use alloy_primitives::{B256, Bloom, KECCAK256_EMPTY, keccak256};
use alloy_rlp::{Encodable, Header};
use alloy_trie::EMPTY_ROOT_HASH;

use crate::decode::{LooseBytes, RawBlock};

/// Fields that nodes return with a header but that are not part of it.
const BESIDE_THE_HEADER: [&str; 3] = ["totalDifficulty", "milliTimestamp", "sealFields"];

/// Result of comparing a header's hash with its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeaderProof {
    Proven,
    /// The hash differs, and all fields are known.
    Differs,
    /// The hash differs, and these unknown fields may be part of the header.
    UnknownFields(Vec<String>),
    Missing(&'static str),
}

/// Computes the hash with this bloom instead of the returned one.
pub(super) fn prove<T>(block: &RawBlock<T>, bloom: &Bloom) -> HeaderProof {
    let mut fields = Vec::with_capacity(1_024);
    if let Err(field) = encode_required(block, bloom, &mut fields) {
        return HeaderProof::Missing(field);
    }
    let required = fields.len();
    let ends = encode_optional(block, &mut fields);
    // Some nodes return fields of later forks with headers that do not have them.
    let mut prefixes = ends.into_iter().rev().chain([required]).filter_map(|end| fields.get(..end));
    if prefixes.any(|fields| hash_of(fields) == block.hash.0) {
        return HeaderProof::Proven;
    }
    let unknown = |name: &&String| !BESIDE_THE_HEADER.contains(&name.as_str());
    let unknown: Vec<String> = block.other_fields.0.iter().filter(unknown).cloned().collect();
    if unknown.is_empty() { HeaderProof::Differs } else { HeaderProof::UnknownFields(unknown) }
}

/// The hash of a header with these fields.
fn hash_of(fields: &[u8]) -> B256 {
    let mut encoded = Vec::with_capacity(fields.len() + 9);
    Header { list: true, payload_length: fields.len() }.encode(&mut encoded);
    encoded.extend_from_slice(fields);
    keccak256(encoded)
}

/// Appends the fields that every header has. If one is missing, returns its name.
fn encode_required<T>(block: &RawBlock<T>, bloom: &Bloom, out: &mut Vec<u8>) -> Result<(), &'static str> {
    block.parent_hash.0.encode(out);
    hash(&block.sha3_uncles).ok_or("sha3Uncles")?.encode(out);
    block.miner.or(block.author).ok_or("miner")?.0.encode(out);
    hash(&block.state_root).ok_or("stateRoot")?.encode(out);
    hash(&block.transactions_root).ok_or("transactionsRoot")?.encode(out);
    hash(&block.receipts_root).ok_or("receiptsRoot")?.encode(out);
    bloom.encode(out);
    block.difficulty.ok_or("difficulty")?.0.encode(out);
    block.number.0.encode(out);
    block.gas_limit.0.encode(out);
    block.gas_used.0.encode(out);
    block.timestamp.0.encode(out);
    bytes(&block.extra_data).ok_or("extraData")?.encode(out);
    hash(&block.mix_hash).ok_or("mixHash")?.encode(out);
    bytes(&block.nonce).filter(|nonce| nonce.len() == 8).ok_or("nonce")?.encode(out);
    Ok(())
}

/// Appends the fields that forks added, and returns where each one ends.
fn encode_optional<T>(block: &RawBlock<T>, out: &mut Vec<u8>) -> Vec<usize> {
    fn append(field: Option<impl Encodable>, out: &mut Vec<u8>) -> Option<usize> {
        field?.encode(out);
        Some(out.len())
    }
    let ends = [
        append(block.base_fee_per_gas.map(|fee| fee.0), out),
        append(hash(&block.withdrawals_root), out),
        append(block.blob_gas_used.map(|gas| gas.0), out),
        append(block.excess_blob_gas.map(|gas| gas.0), out),
        append(hash(&block.parent_beacon_block_root), out),
        append(hash(&block.requests_hash), out),
        append(hash(&block.block_access_list_hash), out),
        append(block.slot_number.map(|number| number.0), out),
    ];
    ends.into_iter().flatten().collect()
}

fn bytes(field: &Option<LooseBytes>) -> Option<&alloy_primitives::Bytes> {
    field.as_ref()?.get()
}

pub(crate) fn hash(field: &Option<LooseBytes>) -> Option<B256> {
    B256::try_from(&bytes(field)?[..]).ok()
}

/// A root of transactions or receipts. Hardhat's genesis block has the hash of empty input instead of the empty trie root;
/// no trie has that root, so it is unambiguous.
pub(super) fn trie_root(field: &Option<LooseBytes>) -> Option<B256> {
    hash(field).map(|root| if root == KECCAK256_EMPTY { EMPTY_ROOT_HASH } else { root })
}

/// The returned bloom; None if missing or empty.
pub(super) fn bloom<T>(block: &RawBlock<T>) -> Option<Bloom> {
    let bloom = Bloom::try_from(&bytes(&block.logs_bloom)?[..]).ok()?;
    (!bloom.is_zero()).then_some(bloom)
}
