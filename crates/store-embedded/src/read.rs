//! Queries on one consistent snapshot.

mod addresses;
mod approvals;
mod blocks;
mod caches;
mod checkpoints;
mod codes;
mod conditions;
mod credits;
mod days;
mod events;
mod internal;
mod known_addresses;
mod logs;
mod long_walk;
mod nfts;
mod positions;
mod search;
mod select;
mod settled;
mod snapshot;
mod stats;
mod tokens;
mod trades;
mod transactions;
mod transfers;

pub(crate) use self::{
    caches::ReadCaches,
    conditions::{LongWalk, ReadError},
    days::first_since,
    snapshot::ReadSnapshot,
};
