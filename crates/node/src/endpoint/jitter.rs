//! Random jitter for retry pauses, so that callers that failed together do not retry together.

use std::sync::{Mutex, PoisonError};

use rand::{Rng, SeedableRng, rngs::StdRng};

#[derive(Debug)]
pub(crate) struct Jitter(Mutex<StdRng>);

impl Jitter {
    /// Deterministic with a seed, random without.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(seed.map_or_else(|| StdRng::from_rng(&mut rand::rng()), StdRng::seed_from_u64)))
    }

    /// A random number from 0 to 1.
    pub(crate) fn fraction(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random_range(0.0..=1.0)
    }
}
