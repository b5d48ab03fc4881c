//! Statistics and formatting of measurements.

use std::time::Duration;

use anyhow::Context;

/// A quantile of a sorted sample.
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index into the sample")]
    let position = (share * (sorted.len().saturating_sub(1)) as f64).round() as usize;
    sorted.get(position).copied().unwrap_or_default()
}

pub(crate) fn micros(duration: Duration) -> String {
    format!("{:.0} us", duration.as_secs_f64() * 1e6)
}

pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

/// Peak memory of this process.
pub(crate) fn own_megabytes() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no peak memory")?;
    Ok(line.trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}

/// Whether a bound is met.
pub(crate) fn reached(is_reached: bool) -> &'static str {
    if is_reached { "reached" } else { "NOT reached" }
}
