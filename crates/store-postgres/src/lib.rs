//! The store for several machines: an index in a PostgreSQL database.
//!
//! Every transaction has a sequential id in chain order. A list is a sorted sequence of such ids, stored as runs: each commit
//! appends one row for each list that it touches, with its entries and the counts before them. So a total is one read, a
//! page is one seek at any depth, a block range is two searches, and reverting a block deletes the runs that it appended.

mod chain;
mod database;
mod database_url;
mod delivery_lock;
mod error;
mod indexer;
mod internal;
mod lists;
mod locks;
mod maintenance;
mod migrations;
mod numeric;
mod open_error;
mod quotas;
mod ranks;
mod read;
mod reader;
mod replica;
mod rows;
mod store;
mod tls;
mod tokens;
mod user_records;
mod verified_contracts;
mod versions;
mod webhook_records;
mod write;
mod writer;

pub use delivery_lock::DeliveryLock;
pub use maintenance::{Findings, ServerVersion, TableSize};
pub use open_error::OpenError;
pub use quotas::PostgresQuotas;
pub use reader::PostgresReader;
pub use store::{PostgresOptions, PostgresStore};
pub use user_records::PostgresUserRecords;
pub use verified_contracts::{PostgresJobs, PostgresVerifiedContracts};
pub use webhook_records::PostgresWebhookRecords;
pub use writer::PostgresWriter;
