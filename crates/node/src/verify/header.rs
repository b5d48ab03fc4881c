//! Computes header hashes.

use alloy_consensus::Header;
use alloy_primitives::{B64, B256, Bloom, KECCAK256_EMPTY};
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
    let mut header = match header(block, bloom) {
        Ok(header) => header,
        Err(field) => return HeaderProof::Missing(field),
    };
    // Some nodes return fields of later forks with headers that do not have them.
    loop {
        if header.hash_slow() == block.hash.0 {
            return HeaderProof::Proven;
        }
        if !drop_last(&mut header) {
            break;
        }
    }
    let unknown = |name: &&String| !BESIDE_THE_HEADER.contains(&name.as_str());
    let unknown: Vec<String> = block.other_fields.0.iter().filter(unknown).cloned().collect();
    if unknown.is_empty() { HeaderProof::Differs } else { HeaderProof::UnknownFields(unknown) }
}

fn header<T>(block: &RawBlock<T>, bloom: &Bloom) -> Result<Header, &'static str> {
    Ok(Header {
        parent_hash: block.parent_hash.0,
        ommers_hash: hash(&block.sha3_uncles).ok_or("sha3Uncles")?,
        beneficiary: block.miner.or(block.author).ok_or("miner")?.0,
        state_root: hash(&block.state_root).ok_or("stateRoot")?,
        transactions_root: hash(&block.transactions_root).ok_or("transactionsRoot")?,
        receipts_root: hash(&block.receipts_root).ok_or("receiptsRoot")?,
        logs_bloom: *bloom,
        difficulty: block.difficulty.ok_or("difficulty")?.0,
        number: block.number.0,
        gas_limit: block.gas_limit.0,
        gas_used: block.gas_used.0,
        timestamp: block.timestamp.0,
        extra_data: bytes(&block.extra_data).ok_or("extraData")?.clone(),
        mix_hash: hash(&block.mix_hash).ok_or("mixHash")?,
        nonce: bytes(&block.nonce).and_then(|nonce| B64::try_from(&nonce[..]).ok()).ok_or("nonce")?,
        base_fee_per_gas: match block.base_fee_per_gas {
            Some(fee) => Some(u64::try_from(fee.0).map_err(|_| "baseFeePerGas")?),
            None => None,
        },
        withdrawals_root: hash(&block.withdrawals_root),
        blob_gas_used: block.blob_gas_used.map(|gas| gas.0),
        excess_blob_gas: block.excess_blob_gas.map(|gas| gas.0),
        parent_beacon_block_root: hash(&block.parent_beacon_block_root),
        requests_hash: hash(&block.requests_hash),
        block_access_list_hash: hash(&block.block_access_list_hash),
        slot_number: block.slot_number.map(|number| number.0),
    })
}

/// Removes the newest optional field; false if none is left.
fn drop_last(header: &mut Header) -> bool {
    header.slot_number.take().is_some()
        || header.block_access_list_hash.take().is_some()
        || header.requests_hash.take().is_some()
        || header.parent_beacon_block_root.take().is_some()
        || header.excess_blob_gas.take().is_some()
        || header.blob_gas_used.take().is_some()
        || header.withdrawals_root.take().is_some()
        || header.base_fee_per_gas.take().is_some()
}

fn bytes(field: &Option<LooseBytes>) -> Option<&alloy_primitives::Bytes> {
    field.as_ref()?.get()
}

pub(super) fn hash(field: &Option<LooseBytes>) -> Option<B256> {
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
