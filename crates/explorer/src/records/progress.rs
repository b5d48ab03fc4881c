//! How far an export or import is: a bar on a terminal, and lines in a log.

use std::{
    io::IsTerminal,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

const LOG_EVERY: Duration = Duration::from_secs(5);

pub(super) struct Progress {
    bar: ProgressBar,
    logged_at: Instant,
}

impl Progress {
    /// The total may be unknown.
    pub(super) fn new(total: Option<u64>) -> Self {
        let (bar, template) = match total {
            _ if !std::io::stderr().is_terminal() => (ProgressBar::hidden(), ""),
            Some(total) => (ProgressBar::new(total), "{wide_bar} {human_pos}/{human_len} records, {eta} left"),
            None => (ProgressBar::no_length(), "{human_pos} records"),
        };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self { bar: bar.with_style(style), logged_at: Instant::now() }
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
