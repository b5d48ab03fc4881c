//! Random queries.

use domain::{Address, BlockRange, Order, PageRequest};
use rand::{Rng, rngs::StdRng};

use super::RandomChain;

pub(super) const ORDERS: [Order; 2] = [Order::NewestFirst, Order::OldestFirst];

/// Mostly one of the busiest addresses, at times any, at times an unknown one.
pub(super) fn some_address(chain: &RandomChain, rng: &mut StdRng) -> Address {
    match rng.random_range(0..10) {
        0 => Address::repeat_byte(0xee),
        1..4 => chain.addresses()[rng.random_range(0..chain.addresses().len())],
        _ => chain.addresses()[rng.random_range(0..6.min(chain.addresses().len()))],
    }
}

pub(super) fn range(rng: &mut StdRng, height: u64) -> BlockRange {
    let end = |rng: &mut StdRng| rng.random_bool(0.4).then(|| rng.random_range(0..height + 3));
    match rng.random_range(0..8) {
        0 => BlockRange::only(rng.random_range(0..=height)),
        1 => BlockRange { from: Some(u64::MAX), to: None },
        2 => BlockRange { from: None, to: Some(u64::MAX) },
        _ => BlockRange { from: end(rng), to: end(rng) },
    }
}

pub(super) fn page(rng: &mut StdRng, total: u64) -> PageRequest {
    let offset = match rng.random_range(0..6) {
        0 | 1 => 0,
        2 => u64::MAX - rng.random_range(0..3),
        _ => rng.random_range(0..total + 10),
    };
    PageRequest { offset, limit: rng.random_range(1..100), order: ORDERS[rng.random_range(0..2)] }
}
