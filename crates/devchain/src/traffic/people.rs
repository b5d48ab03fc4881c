//! The accounts that take part: a few are very active, many appear once.

use alloy_primitives::{Address, B256};
use rand::{Rng, RngCore, rngs::StdRng};

use super::intent::Actor;
use crate::keys::derive;

/// Addresses that receive repeatedly and never send.
const REGULAR_RECEIVERS: u64 = 200;

/// Actors and regular receivers.
#[derive(Debug)]
pub(super) struct People {
    actors: Vec<Address>,
    regulars: Vec<Address>,
    acting: Zipf,
    receiving: Zipf,
}

impl People {
    /// The first of the accounts is the treasury, which is not an actor.
    pub(super) fn new(accounts: &[Address], seed: u64) -> Self {
        let regulars: Vec<Address> =
            (0..REGULAR_RECEIVERS).map(|index| Address::from_word(derive(seed, "regular receiver", index))).collect();
        Self {
            actors: accounts.to_vec(),
            acting: Zipf::new(accounts.len().saturating_sub(1)),
            receiving: Zipf::new(regulars.len()),
            regulars,
        }
    }

    #[expect(clippy::indexing_slicing, reason = "an actor is the index of an account")]
    pub(super) fn address(&self, actor: Actor) -> Address {
        self.actors[actor.0]
    }

    pub(super) fn actor(&self, rng: &mut StdRng) -> Actor {
        Actor(1 + self.acting.sample(rng))
    }

    /// The n-th actor, counted around the ring.
    pub(super) fn nth(&self, index: usize) -> Actor {
        Actor(1 + index % (self.actors.len() - 1))
    }

    /// The actor that acts least.
    pub(super) fn quietest(&self) -> Actor {
        Actor(self.actors.len() - 1)
    }

    /// An actor other than the given one.
    pub(super) fn another(&self, than: Actor, rng: &mut StdRng) -> Actor {
        let drawn = self.actor(rng);
        if drawn != than {
            return drawn;
        }
        self.next_after(than)
    }

    /// The next actor in the ring, who gets allowances from this one.
    pub(super) fn next_after(&self, actor: Actor) -> Actor {
        Actor(1 + actor.0 % (self.actors.len() - 1))
    }

    pub(super) fn all_actors(&self) -> impl Iterator<Item = Actor> + use<> {
        (1..self.actors.len()).map(Actor)
    }

    /// A receiver: usually another actor, often a regular receiver, sometimes a new address.
    pub(super) fn receiver(&self, from: Actor, rng: &mut StdRng) -> Address {
        match rng.random_range(0..100) {
            0..55 => self.address(self.another(from, rng)),
            55..90 => self.regular(rng),
            _ => new_address(rng),
        }
    }

    #[expect(clippy::indexing_slicing, reason = "the distribution is over their number")]
    pub(super) fn regular(&self, rng: &mut StdRng) -> Address {
        self.regulars[self.receiving.sample(rng)]
    }
}

/// A random address.
pub(super) fn new_address(rng: &mut StdRng) -> Address {
    let mut word = B256::ZERO;
    rng.fill_bytes(word.as_mut_slice());
    Address::from_word(word)
}

/// Zipf distribution: the k-th rank is k times rarer than the first.
#[derive(Debug)]
struct Zipf {
    cumulative: Vec<f64>,
}

impl Zipf {
    fn new(ranks: usize) -> Self {
        let mut sum = 0.0;
        let cumulative = (1..=ranks)
            .map(|rank| {
                // Exact: ranks are far below 2^52.
                sum += 1.0 / u32::try_from(rank).map_or(f64::INFINITY, f64::from);
                sum
            })
            .collect();
        Self { cumulative }
    }

    fn sample(&self, rng: &mut StdRng) -> usize {
        let total = self.cumulative.last().copied().unwrap_or_default();
        let drawn = rng.random::<f64>() * total;
        self.cumulative.partition_point(|&sum| sum <= drawn).min(self.cumulative.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn the_first_rank_is_about_ten_times_busier_than_the_tenth() {
        let zipf = Zipf::new(20);
        let mut rng = StdRng::seed_from_u64(1);
        let mut counts = [0_u32; 20];
        for _ in 0..100_000 {
            counts[zipf.sample(&mut rng)] += 1;
        }
        let ratio = f64::from(counts[0]) / f64::from(counts[9]);
        assert!((8.0..12.0).contains(&ratio), "{ratio}");
        assert!(counts.iter().all(|&count| count > 0));
    }

    #[test]
    fn another_actor_is_never_the_same_one() {
        let accounts: Vec<Address> = (0..4).map(Address::with_last_byte).collect();
        let people = People::new(&accounts, 1);
        let mut rng = StdRng::seed_from_u64(1);
        for actor in people.all_actors() {
            for _ in 0..100 {
                let other = people.another(actor, &mut rng);
                assert_ne!(other, actor);
                assert_ne!(other, Actor::TREASURY);
            }
        }
    }
}
