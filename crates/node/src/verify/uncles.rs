//! The uncles of a block against their hash in its header.

use alloy_primitives::{B256, keccak256};
use alloy_rlp::Encodable;

use super::{BlockCheck, Contradiction, rlp};
use crate::decode::RawUncle;

/// Returns the hashes of the headers, which the header of the block proves.
pub(crate) fn check_uncles(expected: B256, uncles: &[RawUncle]) -> Result<Vec<B256>, Contradiction> {
    let mut hashes = Vec::with_capacity(uncles.len());
    let mut all = Vec::new();
    rlp::list(&mut all, |all| {
        for uncle in uncles {
            let start = all.len();
            encode(uncle, all);
            hashes.push(keccak256(all.get(start..).unwrap_or_default()));
        }
    });
    let found = keccak256(&all);
    if found == expected {
        return Ok(hashes);
    }
    let what = format!("the header has {expected:#x}, computed {found:#x} of {} uncles", uncles.len());
    Err(Contradiction { check: BlockCheck::UnclesHash, what })
}

fn encode(uncle: &RawUncle, out: &mut Vec<u8>) {
    let bytes = |field: &crate::decode::LooseBytes| field.get().cloned().unwrap_or_default();
    rlp::list(out, |out| {
        uncle.parent_hash.0.encode(out);
        uncle.sha3_uncles.0.encode(out);
        uncle.miner.0.encode(out);
        uncle.state_root.0.encode(out);
        uncle.transactions_root.0.encode(out);
        uncle.receipts_root.0.encode(out);
        bytes(&uncle.logs_bloom).encode(out);
        uncle.difficulty.0.encode(out);
        uncle.number.0.encode(out);
        uncle.gas_limit.0.encode(out);
        uncle.gas_used.0.encode(out);
        uncle.timestamp.0.encode(out);
        bytes(&uncle.extra_data).encode(out);
        uncle.mix_hash.0.encode(out);
        bytes(&uncle.nonce).encode(out);
        if let Some(fee) = uncle.base_fee_per_gas {
            fee.0.encode(out);
        }
    });
}

#[cfg(test)]
mod tests {
    use alloy_primitives::b256;

    use super::*;

    #[test]
    fn a_block_without_uncles_has_the_hash_of_an_empty_list() {
        let empty = b256!("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");
        assert_eq!(check_uncles(empty, &[]), Ok(Vec::new()));
        assert!(check_uncles(B256::repeat_byte(1), &[]).is_err(), "a node that leaves them out");
    }
}
