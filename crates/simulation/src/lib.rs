//! One explorer with its node, disk, clock and receivers, simulated by seed. All of it is in `tests/simulation`: nothing
//! depends on this crate.
