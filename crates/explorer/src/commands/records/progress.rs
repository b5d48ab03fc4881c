//! How far an export or import is: a bar on a terminal, and lines in a log.

use std::time::{Duration, Instant};

use crate::terminal::progress_bar::{ProgressBar, Unit};

const LOG_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Progress {
    bar: ProgressBar,
    logged_at: Instant,
}

impl Progress {
    /// The total may be unknown.
    pub(super) fn new(total: Option<u64>) -> Self {
        Self { bar: ProgressBar::new(total, Unit::Things("records")), logged_at: Instant::now() }
    }

    pub(super) fn set(&mut self, records: u64) {
        self.bar.set_position(records);
        if self.bar.is_hidden() && self.logged_at.elapsed() >= LOG_EVERY {
            tracing::info!(records, "copying");
            self.logged_at = Instant::now();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
