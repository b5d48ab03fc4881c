use rand::{SeedableRng, rngs::StdRng};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Randomness derived from a seed. Each decision has its own generator, named after what is decided, so that the order in
/// which threads decide does not matter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(xxh3_64_with_seed(b"simulation", seed))
    }

    pub(crate) fn of(self, name: &str) -> Self {
        Self(xxh3_64_with_seed(name.as_bytes(), self.0))
    }

    pub(crate) fn nth(self, number: u64) -> Self {
        Self(xxh3_64_with_seed(&number.to_le_bytes(), self.0))
    }

    pub(crate) fn rng(self) -> StdRng {
        StdRng::seed_from_u64(self.0)
    }

    pub(crate) fn number(self) -> u64 {
        self.0
    }
}
