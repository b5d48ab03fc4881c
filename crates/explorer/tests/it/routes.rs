//! One file for each resource of the API.

mod addresses;
mod blocks;
mod days;
mod health;
mod min_block;
mod paging;
mod stats;
mod stream;
mod transaction_parts;
mod transactions;
