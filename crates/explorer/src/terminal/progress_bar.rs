//! A progress bar on standard error, if that is a terminal.

use std::{
    fmt::Write as _,
    io::{self, IsTerminal, Write as _},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const REDRAW: Duration = Duration::from_millis(100);
const WIDTH: usize = 24;
/// Moves to the start of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

pub(crate) struct ProgressBar {
    /// None without a terminal.
    shown: Option<Mutex<Shown>>,
}

struct Shown {
    unit: Unit,
    position: u64,
    /// None if it is unknown.
    length: Option<u64>,
    /// Instead of the time left.
    message: Option<String>,
    started_at: Instant,
    drawn_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Bytes,
    Things(&'static str),
}

impl ProgressBar {
    pub(crate) fn new(length: impl Into<Option<u64>>, unit: Unit) -> Self {
        let length = length.into();
        let shown = Shown { unit, position: 0, length, message: None, started_at: Instant::now(), drawn_at: None };
        Self { shown: io::stderr().is_terminal().then(|| Mutex::new(shown)) }
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.shown.is_none()
    }

    pub(crate) fn set_length(&self, length: u64) {
        self.change(|shown| shown.length = Some(length));
    }

    pub(crate) fn set_position(&self, position: u64) {
        self.change(|shown| shown.position = position);
    }

    pub(crate) fn set_message(&self, message: String) {
        self.change(|shown| shown.message = Some(message));
    }

    pub(crate) fn inc(&self, count: u64) {
        self.change(|shown| shown.position += count);
    }

    pub(crate) fn finish_and_clear(&self) {
        if self.shown.is_some() {
            print(CLEAR);
        }
    }

    fn change(&self, change: impl FnOnce(&mut Shown)) {
        let Some(shown) = &self.shown else { return };
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut shown);
        let now = Instant::now();
        if shown.drawn_at.is_none_or(|drawn_at| now.duration_since(drawn_at) >= REDRAW) {
            shown.drawn_at = Some(now);
            print(&format!("{CLEAR}{}", shown.line(now)));
        }
    }
}

impl Shown {
    fn line(&self, now: Instant) -> String {
        let amount = |number| match self.unit {
            Unit::Bytes => bytes(number),
            Unit::Things(_) => grouped(number),
        };
        let mut line = match self.length {
            Some(length) => format!("[{:-<WIDTH$}] {}/{}", self.filled(length), amount(self.position), amount(length)),
            None => amount(self.position),
        };
        if let Unit::Things(name) = self.unit {
            let _ = write!(line, " {name}");
        }
        match (&self.message, self.position, self.length) {
            (Some(message), _, _) => line.extend([", ", message]),
            (None, 0, _) | (None, _, None) => {}
            (None, position, Some(length)) => {
                let left = length.saturating_sub(position) as f64 / position as f64;
                let left = now.duration_since(self.started_at).as_secs_f64() * left;
                let _ = write!(line, ", {} left", duration(Duration::from_secs_f64(left.min(1e9))));
            }
        }
        line
    }

    fn filled(&self, length: u64) -> String {
        let length = length.max(1);
        let filled = u128::from(self.position.min(length)) * WIDTH as u128 / u128::from(length);
        "#".repeat(usize::try_from(filled).unwrap_or(WIDTH))
    }
}

/// In the largest unit of which there are at least two.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (count, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        _ => format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn print(text: &str) {
    // A failed write to standard error cannot be reported.
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(position: u64, length: impl Into<Option<u64>>, unit: Unit, message: Option<&str>) -> String {
        let started_at = Instant::now();
        let message = message.map(str::to_owned);
        let length = length.into();
        let shown = Shown { unit, position, length, message, started_at, drawn_at: None };
        shown.line(started_at + Duration::from_secs(60))
    }

    #[test]
    fn a_bar_shows_its_part_of_the_whole_and_the_time_left() {
        let blocks = Unit::Things("blocks");
        assert_eq!(line(0, 0, blocks, None), "[------------------------] 0/0 blocks");
        assert_eq!(line(250, 1_000, blocks, None), "[######------------------] 250/1,000 blocks, 3 minutes left");
        assert_eq!(line(2_500, None, blocks, None), "2,500 blocks");
        assert_eq!(line(9, 6, blocks, None), "[########################] 9/6 blocks, 0 seconds left");
        assert_eq!(
            line(1, u64::MAX, blocks, Some("2 tx/s")),
            "[------------------------] 1/18,446,744,073,709,551,615 blocks, 2 tx/s"
        );
        assert_eq!(
            line(1 << 29, 1 << 30, Unit::Bytes, None),
            "[############------------] 512.0 MiB/1.00 GiB, 60 seconds left"
        );
    }

    #[test]
    fn durations_have_one_unit() {
        let texts = [1, 119, 120, 7_199, 7_200, 172_800].map(|seconds| duration(Duration::from_secs(seconds)));
        assert_eq!(texts, ["1 second", "119 seconds", "2 minutes", "119 minutes", "2 hours", "2 days"]);
    }
}
