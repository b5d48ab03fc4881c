use std::fmt;

use jiff::{Timestamp, civil::Date, tz::Offset};

/// The Gregorian calendar repeats after 400 years.
const MILLIS_PER_400_YEARS: u128 = 146_097 * 86_400 * 1_000;

/// A time in UTC, formatted as ISO 8601 with milliseconds, or without them as `{:.0}`. Years after 9999 have a sign and at
/// least six digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcTime(
    /// Milliseconds since 1970, for any u64 of seconds, since a chain may use any timestamp.
    u128,
);

impl UtcTime {
    #[must_use]
    pub fn from_unix_seconds(seconds: u64) -> Self {
        Self(u128::from(seconds) * 1_000)
    }

    #[must_use]
    pub fn from_unix_millis(millis: u64) -> Self {
        Self(millis.into())
    }
}

/// The first second of a day in UTC, written as `2026-11-18`; None if it is no such day, or one before 1970.
#[must_use]
pub fn parse_day(text: &str) -> Option<u64> {
    let date: Date = text.parse().ok().filter(|_| text.len() == "2026-11-18".len())?;
    u64::try_from(Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_second()).ok()
}

/// None for times after the last one that `jiff` supports, at the end of the year 9999.
fn timestamp(millis: u128) -> Option<Timestamp> {
    Timestamp::from_millisecond(i64::try_from(millis).ok()?).ok()
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_millis = f.precision() != Some(0);
        if let Some(timestamp) = timestamp(self.0) {
            return if with_millis { write!(f, "{timestamp:.3}") } else { write!(f, "{timestamp:.0}") };
        }
        // The same time of an earlier year with the same calendar.
        let earlier = timestamp(self.0 % MILLIS_PER_400_YEARS).ok_or(fmt::Error)?;
        let earlier = Offset::UTC.to_datetime(earlier);
        let year = self.0 / MILLIS_PER_400_YEARS * 400 + u128::try_from(earlier.year()).map_err(|_| fmt::Error)?;
        if year > 9999 {
            write!(f, "+{year:06}")?;
        } else {
            write!(f, "{year}")?;
        }
        write!(f, "{}", earlier.strftime("-%m-%dT%H:%M:%S"))?;
        if with_millis {
            write!(f, ".{:03}", self.0 % 1_000)?;
        }
        f.write_str("Z")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(seconds: u64) -> String {
        UtcTime::from_unix_seconds(seconds).to_string()
    }

    #[test]
    fn days_are_read_as_they_are_written() {
        for (text, seconds) in [("1970-01-01", 0), ("2026-11-15", 1_794_700_800), ("2024-02-29", 1_709_164_800)] {
            assert_eq!(parse_day(text), Some(seconds));
            assert!(formatted(seconds).starts_with(text));
        }
        for text in ["", "2026-02-29", "2026-11-15T00:00", "15.11.2026", "1969-12-31", "20261115"] {
            assert_eq!(parse_day(text), None, "{text}");
        }
    }

    #[test]
    fn known_times_are_formatted_in_utc_with_milliseconds() {
        assert_eq!(formatted(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(formatted(1_438_269_973), "2015-07-30T15:26:13.000Z");
        assert_eq!(formatted(1_794_700_800), "2026-11-15T00:00:00.000Z");
        assert_eq!(formatted(4_102_444_799), "2099-12-31T23:59:59.000Z");
    }

    #[test]
    fn milliseconds_are_formatted_unless_the_precision_is_zero() {
        assert_eq!(UtcTime::from_unix_millis(1_794_700_800_007).to_string(), "2026-11-15T00:00:00.007Z");
        assert_eq!(UtcTime::from_unix_millis(999).to_string(), "1970-01-01T00:00:00.999Z");
        assert_eq!(format!("{:.0}", UtcTime::from_unix_millis(1_999)), "1970-01-01T00:00:01Z");
        assert_eq!(format!("{:.0}", UtcTime::from_unix_millis(253_402_300_800_999)), "+010000-01-01T00:00:00Z");
    }

    #[test]
    fn leap_days_come_every_four_years_but_not_every_century() {
        assert_eq!(formatted(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(formatted(951_868_800), "2000-03-01T00:00:00.000Z");
        assert_eq!(formatted(1_709_164_800), "2024-02-29T00:00:00.000Z");
        assert_eq!(formatted(4_107_456_000), "2100-02-28T00:00:00.000Z");
        assert_eq!(formatted(4_107_542_400), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn times_far_in_the_future_have_more_digits() {
        let last_supported = u64::try_from(Timestamp::MAX.as_second()).unwrap();
        assert_eq!(formatted(last_supported), "9999-12-30T22:00:00.000Z");
        assert_eq!(formatted(last_supported + 1), "9999-12-30T22:00:01.000Z");
        assert_eq!(formatted(253_402_300_799), "9999-12-31T23:59:59.000Z");
        assert_eq!(formatted(253_402_300_800), "+010000-01-01T00:00:00.000Z");
        assert_eq!(formatted(317_364_220_800 - 1), "+012026-11-14T23:59:59.000Z");
        assert_eq!(formatted(u64::MAX), "+584554051223-11-09T07:00:15.000Z");
        assert_eq!(UtcTime::from_unix_millis(u64::MAX).to_string(), "+584556019-04-03T14:25:51.615Z");
    }
}
