//! When a failed attempt is made again.

use std::time::Duration;

use domain::UnixMillis;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Seconds to wait after the first failure, the second, and so on.
const SCHEDULE: [u64; 11] =
    [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
/// A wait is longer or shorter by up to a fifth, so that those who failed together do not come back together.
const SPREAD: f64 = 0.2;
/// What a receiver may ask for with Retry-After.
const SHORTEST_ASKED: Duration = Duration::from_secs(1);
const LONGEST_ASKED: Duration = Duration::from_secs(24 * HOUR);

/// When to try again after the `failed`-th attempt, counted from 1; None: enough. `chance` lies between 0 and 1.
pub(crate) fn next_attempt(failed: u32, now: UnixMillis, asked: Option<Duration>, chance: f64) -> Option<UnixMillis> {
    let place = usize::try_from(failed.checked_sub(1)?).ok()?;
    let seconds = *SCHEDULE.get(place)?;
    let planned = Duration::from_secs(seconds).mul_f64(1.0 + SPREAD * (2.0 * chance - 1.0));
    // Sooner than planned if the receiver says so, later too: within reason.
    let wait = asked.map_or(planned, |asked| asked.clamp(SHORTEST_ASKED, LONGEST_ASKED));
    Some(now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
}

/// Reads the value of Retry-After: seconds, or a date.
pub(crate) fn retry_after(value: &str, now: UnixMillis) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let at = httpdate::parse_http_date(value).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(at.saturating_sub(Duration::from_millis(now)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_are_those_that_are_documented() {
        let waits: Vec<u64> = (1..=11).map(|failed| next_attempt(failed, 0, None, 0.5).unwrap() / 1_000).collect();
        assert_eq!(waits, [5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(next_attempt(12, 0, None, 0.5), None, "twelve attempts are enough");
        assert_eq!(next_attempt(u32::MAX, 0, None, 0.5), None);
    }

    #[test]
    fn chance_spreads_a_wait_by_a_fifth_to_either_side() {
        assert_eq!(next_attempt(2, 1_000, None, 0.0), Some(25_000));
        assert_eq!(next_attempt(2, 1_000, None, 1.0), Some(37_000));
        let spread: Vec<u64> = (0..100).map(|step| next_attempt(1, 0, None, f64::from(step) / 99.0).unwrap()).collect();
        assert!(spread.iter().all(|wait| (4_000..=6_000).contains(wait)) && spread.is_sorted());
    }

    #[test]
    fn a_receiver_may_ask_for_more_or_less_within_bounds() {
        let asked = |seconds| next_attempt(1, 0, Some(Duration::from_secs(seconds)), 0.5).unwrap() / 1_000;
        assert_eq!((asked(0), asked(2), asked(90)), (1, 2, 90));
        assert_eq!((asked(1 << 40), asked(u64::MAX)), (86_400, 86_400));
        assert_eq!(next_attempt(12, 0, Some(Duration::from_secs(1)), 0.5), None, "but not for attempts without end");
    }

    #[test]
    fn retry_after_is_read_as_seconds_or_as_a_date() {
        assert_eq!(retry_after(" 120 ", 0), Some(Duration::from_secs(120)));
        assert_eq!(retry_after("99999999999999999999999", 0), Some(Duration::from_secs(u64::MAX)));
        let date = "Sun, 15 Nov 2026 00:01:00 GMT";
        assert_eq!(retry_after(date, 1_794_700_800_000), Some(Duration::from_secs(60)));
        assert_eq!(retry_after(date, 1_894_700_800_000), Some(Duration::ZERO), "in the past");
        for nonsense in ["", "-1", "soon", "1.5", "Sun, 99 Nov"] {
            assert_eq!(retry_after(nonsense, 0), None, "{nonsense}");
        }
    }
}
