//! The advisory locks of a database.

/// Held while the schema changes.
pub(crate) const MIGRATION: i64 = 0x6578_706c_0000_0001;
/// Held by the writer of the index, as long as its connection lives.
pub(crate) const WRITER: i64 = 0x6578_706c_0000_0002;
/// Held by changes of API keys.
pub(crate) const KEYS: i64 = 0x6578_706c_0000_0003;
/// Held by changes of verified contracts, and of the code at their addresses: the list of contracts follows from both.
pub(crate) const LISTING: i64 = 0x6578_706c_0000_0004;
/// Held by changes of webhooks and their messages.
pub(crate) const WEBHOOKS: i64 = 0x6578_706c_0000_0005;
/// Held by changes of verification jobs.
pub(crate) const JOBS: i64 = 0x6578_706c_0000_0006;
/// Held by the process that sends webhooks, as long as its connection lives.
pub(crate) const DELIVERIES: i64 = 0x6578_706c_0000_0007;
