//! Random amounts over many orders of magnitude.

use alloy_primitives::U256;
use rand::{Rng, rngs::StdRng};

/// One native coin, or one token of 18 decimals.
pub(super) const COIN: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// Coins that an actor never spends, so that it can pay for the gas of many blocks.
pub(super) const GAS_RESERVE: U256 = U256::from_limbs([5_000_000_000_000_000_000, 0, 0, 0]);

/// `count` of a token with these decimals.
pub(super) fn units(count: u64, decimals: u8) -> U256 {
    U256::from(count) * U256::from(10).pow(U256::from(decimals))
}

/// Between 1 and `max`, with every order of magnitude equally likely.
pub(super) fn spread(max: U256, rng: &mut StdRng) -> U256 {
    let bits = rng.random_range(1..=max.bit_len().max(1));
    let drawn = U256::from_limbs([rng.random(), rng.random(), rng.random(), rng.random()]);
    let sized = (drawn >> (256 - bits)) | (U256::from(1) << (bits - 1));
    sized.min(max).max(U256::from(1))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn amounts_cover_all_magnitudes_up_to_the_maximum() {
        let mut rng = StdRng::seed_from_u64(1);
        let max = COIN * U256::from(30);
        let amounts: Vec<U256> = (0..5000).map(|_| spread(max, &mut rng)).collect();
        assert!(amounts.iter().all(|&amount| amount >= U256::from(1) && amount <= max));
        assert!(amounts.iter().any(|&amount| amount < U256::from(10)));
        assert!(amounts.iter().any(|&amount| amount > U256::from(u64::MAX)));
    }

    #[test]
    fn a_maximum_of_one_gives_one() {
        let mut rng = StdRng::seed_from_u64(1);
        assert_eq!(spread(U256::from(1), &mut rng), U256::from(1));
    }
}
