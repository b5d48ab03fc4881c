use std::time::Duration;

/// A copy of the database that answers reads, if it is recent enough.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplicaStatus {
    /// Whether reads use it now; otherwise they use the database itself.
    pub is_used: bool,
    /// How long it has lacked a change that the database has.
    pub behind: Duration,
    /// Why it cannot be read; None if it can.
    pub failure: Option<String>,
}
