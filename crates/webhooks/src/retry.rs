//! Retry schedule of failed attempts.

use std::time::Duration;

use domain::UnixMillis;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
/// Seconds to wait after the first failure, the second, and so on.
pub(crate) const SCHEDULE: [u64; 11] =
    [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
/// Jitter: a wait varies by up to a fifth, so that messages that failed together are not retried together.
pub(crate) const JITTER: f64 = 0.2;
/// A lower bound for the sum of all waits. No message younger than this is given up, however many attempts were made: the
/// owner may have requested redeliveries.
const MIN_SPAN: Duration = Duration::from_secs(sum(&SCHEDULE) * 3 / 4);
/// The longest wait that a receiver can request with Retry-After.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * HOUR);

const fn sum(seconds: &[u64]) -> u64 {
    match seconds {
        [first, rest @ ..] => *first + sum(rest),
        [] => 0,
    }
}

/// When to retry after the `failed`-th attempt (counted from 1) of a message of this age; None: give up. Retry-After can
/// make the wait longer but not shorter: early attempts would use up the schedule. `chance` is between 0 and 1.
pub(crate) fn next_attempt(
    failed: u32,
    age: Duration,
    now: UnixMillis,
    requested: Option<Duration>,
    chance: f64,
) -> Option<UnixMillis> {
    let index = usize::try_from(failed.checked_sub(1)?).ok()?;
    let last = SCHEDULE.last().filter(|_| age < MIN_SPAN);
    let seconds = *SCHEDULE.get(index).or(last)?;
    let planned = Duration::from_secs(seconds).mul_f64(1.0 + JITTER * (2.0 * chance - 1.0));
    let wait = requested.map_or(planned, |requested| planned.max(requested.min(MAX_RETRY_AFTER)));
    Some(now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
}

/// Parses a Retry-After value: seconds or a date.
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

    const OLD: Duration = Duration::from_secs(75 * HOUR);

    fn wait(failed: u32, requested: Option<u64>) -> Option<u64> {
        next_attempt(failed, OLD, 0, requested.map(Duration::from_secs), 0.5).map(|at| at / 1_000)
    }

    #[test]
    fn the_waits_are_those_of_the_schedule() {
        let waits: Vec<u64> = (1..=11).filter_map(|failed| wait(failed, None)).collect();
        assert_eq!(waits, SCHEDULE);
        assert_eq!(wait(12, None), None, "twelve attempts are enough");
        assert_eq!(wait(u32::MAX, None), None);
    }

    #[test]
    fn jitter_changes_a_wait_by_up_to_a_fifth() {
        assert_eq!(next_attempt(2, OLD, 1_000, None, 0.0), Some(25_000));
        assert_eq!(next_attempt(2, OLD, 1_000, None, 1.0), Some(37_000));
        let spread: Vec<u64> =
            (0..100).map(|step| next_attempt(1, OLD, 0, None, f64::from(step) / 99.0).unwrap()).collect();
        assert!(spread.iter().all(|wait| (4_000..=6_000).contains(wait)) && spread.is_sorted());
    }

    #[test]
    fn retry_after_can_delay_a_retry_but_not_advance_it() {
        assert_eq!([0, 2, 5, 90].map(|requested| wait(1, Some(requested))), [5, 5, 5, 90].map(Some));
        assert_eq!([1 << 40, u64::MAX].map(|requested| wait(1, Some(requested))), [86_400, 86_400].map(Some));
        assert_eq!(wait(12, Some(1)), None, "the number of attempts stays bounded");
    }

    #[test]
    fn attempts_span_the_schedule_with_any_retry_after() {
        for requested in [None, Some(0), Some(7), Some(60), Some(3_600), Some(1 << 30)] {
            for chance in [0.0, 0.3, 1.0] {
                let (mut now, mut failed) = (0, 1);
                let requested = requested.map(Duration::from_secs);
                while let Some(next) = next_attempt(failed, Duration::from_millis(now), now, requested, chance) {
                    (now, failed) = (next, failed + 1);
                }
                assert_eq!(failed, 12, "{requested:?} {chance}");
                assert!(now >= 60 * HOUR * 1_000, "given up after {now} ms: {requested:?} {chance}");
            }
        }
    }

    #[test]
    fn many_attempts_do_not_give_up_a_recent_message() {
        let recent = Duration::from_secs(HOUR);
        assert_eq!(next_attempt(40, recent, 0, None, 0.5), Some(86_400_000));
        assert_eq!(next_attempt(40, OLD, 0, None, 0.5), None);
    }

    #[test]
    fn retry_after_is_parsed_as_seconds_or_as_a_date() {
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
