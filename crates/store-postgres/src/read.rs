//! Queries. Each is one statement, or runs in a transaction that sees one state.

mod addresses;
mod approvals;
mod blocks;
mod common;
mod credits;
mod days;
mod internal;
mod intersections;
mod known_addresses;
mod logs;
mod nfts;
mod pages;
mod select;
mod spans;
mod stats;
mod tokens;
mod trades;
mod transactions;
mod transfers;
mod walk;

pub(crate) use self::{
    addresses::{find_address, find_code_hash},
    days::list_days,
    intersections::{Intersections, Lists, LongWalks},
    stats::{coverage, find_tip, list_gas_prices, stats},
};
