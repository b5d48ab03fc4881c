//! Small arithmetic on measurements.

use std::time::Duration;

/// The value below which the given share of the sample lies.
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

/// What the figures were taken on.
pub(crate) fn machine() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("Machine: {cores} cores, {}\n", model.trim_start_matches([' ', '\t', ':']))
}
