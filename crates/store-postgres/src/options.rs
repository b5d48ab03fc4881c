use std::time::Duration;

use store::OlderIndex;

/// Limits of one process.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// The schema that contains all tables.
    pub schema: String,
    /// Connections for queries. The writer and the notifications have one more each.
    pub connections: usize,
    /// How long an operation waits for a free connection, and for a new one.
    pub timeout: Duration,
    /// A standby that answers reads while it is recent enough.
    pub read_url: Option<String>,
    /// Each statement of a read that takes several, as filters on several lists do. Nobody waits for longer than this.
    pub statement_timeout: Duration,
    /// Entries of a list that are read at a time where several lists are combined.
    pub list_step: u32,
    /// Number of list tails, and of address ids, that the writer caches.
    pub writer_cache_entries: usize,
    pub older_index: OlderIndex,
    /// Whether the database may be a standby: for commands that only read, and need no notifications.
    pub accepts_standby: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "explorer".to_owned(),
            connections: 16,
            timeout: Duration::from_secs(5),
            read_url: None,
            statement_timeout: Duration::from_secs(30),
            list_step: 32_768,
            writer_cache_entries: 400_000,
            older_index: OlderIndex::default(),
            accepts_standby: false,
        }
    }
}
