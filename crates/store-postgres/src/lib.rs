//! The store for several machines: an index in a PostgreSQL database.
//!
//! Every transaction has a sequential id in chain order. A list is a sorted sequence of such ids, stored as runs: each commit
//! appends one row for each list that it touches, with its entries and the counts before them. So a total is one read, a
//! page is one seek at any depth, a block range is two searches, and reverting a block deletes the runs that it appended.

mod binary_copy;
mod block_times;
mod chain;
mod chosen_server;
mod compaction;
mod connector;
mod database;
mod database_url;
mod error;
mod indexer;
mod internal;
mod lists;
mod locks;
mod maintenance;
mod maps;
mod matching_lock;
mod migrations;
mod nft_metadata;
mod numeric;
mod old_server;
mod open_error;
mod options;
mod quotas;
mod ranks;
mod raw_records;
mod read;
mod reader;
mod reading;
mod replica;
mod rows;
mod same_chain;
mod servers;
mod store;
mod tables;
#[doc(hidden)]
pub mod testing;
mod tls;
mod token_names;
mod tokens;
mod user_records;
mod verified_contracts;
mod versions;
mod webhook_records;
mod write;
mod writer;
mod writer_heartbeat;

pub use compaction::Compacted;
pub use indexer::SyncReport;
pub use maintenance::{ServerVersion, TableSize};
pub use matching_lock::MatchingLock;
pub use open_error::OpenError;
pub use options::PostgresOptions;
pub use quotas::PostgresQuotas;
pub use reader::PostgresReader;
pub use store::PostgresStore;
pub use user_records::PostgresUserRecords;
pub use verified_contracts::{PostgresJobs, PostgresVerifiedContracts};
pub use webhook_records::{PostgresWebhookRecords, QueueNews, Sender};
pub use writer::PostgresWriter;
