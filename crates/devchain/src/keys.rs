//! Keys and addresses derived from the seed.

use alloy_primitives::{Address, B256, keccak256};

use crate::Signer;

const COINBASES: u64 = 3;

/// The first `count` signers of a seed.
pub(crate) fn signers(seed: u64, count: usize) -> Vec<Signer> {
    (0_u64..).filter_map(|index| Signer::from_bytes(&derive(seed, "account", index))).take(count).collect()
}

/// The beneficiaries of blocks.
pub(crate) fn coinbases(seed: u64) -> Vec<Address> {
    (0..COINBASES).map(|index| Address::from_word(derive(seed, "coinbase", index))).collect()
}

/// A deterministic word for a seed, a purpose and an index.
pub(crate) fn derive(seed: u64, purpose: &str, index: u64) -> B256 {
    let mut preimage = Vec::with_capacity(16 + purpose.len());
    preimage.extend_from_slice(&seed.to_be_bytes());
    preimage.extend_from_slice(purpose.as_bytes());
    preimage.extend_from_slice(&index.to_be_bytes());
    keccak256(preimage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signers_of_a_seed_do_not_depend_on_the_count() {
        let few: Vec<Address> = signers(7, 2).iter().map(Signer::address).collect();
        let many: Vec<Address> = signers(7, 5).iter().map(Signer::address).collect();
        assert_eq!(few, many[..2]);
        assert_ne!(few[0], few[1]);
    }

    #[test]
    fn another_seed_gives_other_keys() {
        assert_ne!(signers(1, 1)[0].address(), signers(2, 1)[0].address());
        assert_ne!(coinbases(1), coinbases(2));
    }
}
