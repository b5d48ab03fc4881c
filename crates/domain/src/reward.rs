//! What chains with proof of work pay for blocks and uncles.

use alloy_primitives::{B256, U256, b256};

use crate::{BlockNumber, ChainIdentity};

/// A thousandth of a coin, in wei.
const MILLI: u64 = 1_000_000_000_000_000;

/// More eras would not fit in 256 bits, and take two thousand years.
const LAST_ERA: u64 = 80;

const ETHEREUM: B256 = b256!("d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3");
const ROPSTEN: B256 = b256!("41941023680923e0fe4d74a34bdac8141f2540e3ae90623718e47d66d1ca4a2d");
const SEPOLIA: B256 = b256!("25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9");

/// The rules of a chain whose blocks are found by work. Other chains with the same genesis block or the same id may have others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewardRules {
    /// Five coins, three from one block on, two from another one on.
    Steps { three_from: BlockNumber, two_from: BlockNumber },
    /// Five coins, a fifth less after each era of so many blocks (Ethereum Classic).
    Eras { blocks: BlockNumber },
}

impl RewardRules {
    /// None if the rules of the chain are not known.
    #[must_use]
    pub fn of(chain: ChainIdentity) -> Option<Self> {
        match (chain.chain_id, chain.genesis_hash) {
            (1, ETHEREUM) => Some(Self::Steps { three_from: 4_370_000, two_from: 7_280_000 }),
            (3, ROPSTEN) => Some(Self::Steps { three_from: 1_700_000, two_from: 4_230_000 }),
            (11_155_111, SEPOLIA) => Some(Self::Steps { three_from: 0, two_from: 0 }),
            (61, ETHEREUM) => Some(Self::Eras { blocks: 5_000_000 }),
            _ => None,
        }
    }

    /// For a block that was found by work, without what its uncles add. The first block was not found.
    fn block_reward(self, number: BlockNumber) -> U256 {
        let coins = |count: u64| U256::from(count) * U256::from(1_000 * MILLI);
        match self {
            _ if number == 0 => U256::ZERO,
            Self::Steps { two_from, .. } if number >= two_from => coins(2),
            Self::Steps { three_from, .. } if number >= three_from => coins(3),
            Self::Steps { .. } => coins(5),
            Self::Eras { .. } => {
                let era = self.era(number);
                if era > LAST_ERA {
                    return U256::ZERO;
                }
                coins(5) * U256::from(4).pow(U256::from(era)) / U256::from(5).pow(U256::from(era))
            }
        }
    }

    fn era(self, number: BlockNumber) -> u64 {
        match self {
            Self::Steps { .. } => 0,
            Self::Eras { blocks } => number.saturating_sub(1) / blocks,
        }
    }

    /// For the producer of a block with this many uncles.
    #[must_use]
    pub fn of_block(self, number: BlockNumber, uncles: usize) -> U256 {
        let reward = self.block_reward(number);
        reward + reward / U256::from(32) * U256::from(uncles)
    }

    /// For the producer of an uncle that a block includes.
    #[must_use]
    pub fn of_uncle(self, number: BlockNumber, uncle: BlockNumber) -> U256 {
        let reward = self.block_reward(number);
        if self.era(number) > 0 {
            return reward / U256::from(32);
        }
        reward * U256::from(uncle.saturating_add(8).saturating_sub(number)) / U256::from(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(chain_id: u64, genesis_hash: B256) -> RewardRules {
        RewardRules::of(ChainIdentity { chain_id, genesis_hash }).unwrap()
    }

    fn milli(amount: U256) -> (u64, u64) {
        let (whole, rest) = amount.div_rem(U256::from(MILLI));
        (whole.to(), rest.to())
    }

    #[test]
    fn ethereum_paid_five_three_and_two_coins() {
        let rules = rules(1, ETHEREUM);
        let paid =
            [0, 1, 4_369_999, 4_370_000, 7_279_999, 7_280_000, 15_537_393].map(|number| rules.of_block(number, 0));
        assert_eq!(paid.map(|amount| milli(amount).0), [0, 5_000, 5_000, 3_000, 3_000, 2_000, 2_000]);
    }

    #[test]
    fn an_uncle_pays_its_producer_by_its_age_and_the_one_who_includes_it() {
        let rules = rules(1, ETHEREUM);
        // As on the chain: 5.15625 coins for a block with one uncle, 4.375 for an uncle of the height before.
        assert_eq!(rules.of_block(97, 1).to_string(), "5156250000000000000");
        assert_eq!(rules.of_block(97, 2).to_string(), "5312500000000000000");
        assert_eq!(rules.of_uncle(97, 96).to_string(), "4375000000000000000");
        assert_eq!(rules.of_uncle(97, 91).to_string(), "1250000000000000000");
        assert_eq!(rules.of_uncle(8_000_000, 7_999_998).to_string(), "1500000000000000000");
    }

    #[test]
    fn ethereum_classic_pays_a_fifth_less_in_each_era() {
        let rules = rules(61, ETHEREUM);
        let paid =
            [1, 5_000_000, 5_000_001, 10_000_000, 10_000_001, 20_000_001].map(|number| rules.of_block(number, 0));
        assert_eq!(paid.map(|amount| milli(amount).0), [5_000, 5_000, 4_000, 4_000, 3_200, 2_048]);
        assert_eq!(rules.of_uncle(5_000_001, 5_000_000).to_string(), "125000000000000000");
        assert_eq!(rules.of_block(u64::MAX, 2), U256::ZERO);
    }

    #[test]
    fn a_chain_with_the_id_or_the_genesis_block_of_another_has_unknown_rules() {
        for (chain_id, genesis_hash) in [(1, B256::ZERO), (1, ROPSTEN), (1_337, ETHEREUM), (5, SEPOLIA)] {
            assert_eq!(RewardRules::of(ChainIdentity { chain_id, genesis_hash }), None);
        }
    }
}
