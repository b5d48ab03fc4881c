//! One file for each resource of the API.

mod addresses;
mod blocks;
mod health;
mod openapi;
mod paging;
mod stats;
mod transactions;
