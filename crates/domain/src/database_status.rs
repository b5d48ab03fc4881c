use std::time::{Duration, Instant};

/// A database is asked every second. One that has not answered for this long would not answer a request either.
const SILENT_AFTER: Duration = Duration::from_secs(5);

/// What a process knows of the database that it shares with others, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DatabaseStatus {
    /// When it last answered; None before the first time.
    pub answered_at: Option<Instant>,
    /// Whether the last query failed.
    pub has_failed: bool,
    /// The newest report of a process that indexes; None until one was read.
    pub report: Option<ReportAge>,
    /// Whether a server can be written that is behind another one, as the primary before a failover is.
    pub has_old_primary: bool,
}

/// How old a report was when it was read. A moment before the start of this machine has no [`Instant`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportAge {
    pub age: Duration,
    pub read_at: Instant,
}

impl ReportAge {
    #[must_use]
    pub fn at(self, now: Instant) -> Duration {
        self.age.saturating_add(now.saturating_duration_since(self.read_at))
    }
}

impl DatabaseStatus {
    /// Whether it would answer now, as far as this process knows.
    #[must_use]
    pub fn is_reachable(&self, now: Instant) -> bool {
        let is_recent = |at| now.saturating_duration_since(at) < SILENT_AFTER;
        !self.has_failed && self.answered_at.is_some_and(is_recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_fails_or_is_silent_is_not_reachable() {
        let now = Instant::now();
        let status = DatabaseStatus { answered_at: Some(now), ..DatabaseStatus::default() };
        assert!(status.is_reachable(now + Duration::from_secs(4)));
        assert!(!status.is_reachable(now + Duration::from_secs(5)));
        assert!(!DatabaseStatus { has_failed: true, ..status }.is_reachable(now));
        assert!(!DatabaseStatus::default().is_reachable(now), "it has not answered yet");
    }
}
