use std::fmt::{self, Write};

const SECONDS_PER_DAY: u64 = 86_400;
/// The Gregorian calendar repeats after 400 years.
const DAYS_PER_400_YEARS: u64 = 146_097;
/// From March 1 of the year 0, so that a leap day is the last of its year.
const DAYS_BEFORE_1970: u64 = 719_468;

/// A time in UTC, formatted as ISO 8601 with milliseconds, or without them as `{:.0}`. Years after 9999 have a sign and at
/// least six digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UtcTime {
    /// Since 1970. Any number, since a chain may use any timestamp.
    seconds: u64,
    millis: u64,
}

impl UtcTime {
    #[must_use]
    pub fn from_unix_seconds(seconds: u64) -> Self {
        Self { seconds, millis: 0 }
    }

    #[must_use]
    pub fn from_unix_millis(millis: u64) -> Self {
        Self { seconds: millis / 1_000, millis: millis % 1_000 }
    }
}

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Date {
    year: u64,
    month: u64,
    day: u64,
}

impl Date {
    fn from_unix_days(days: u64) -> Self {
        let days = days + DAYS_BEFORE_1970;
        let (cycle, day) = (days / DAYS_PER_400_YEARS, days % DAYS_PER_400_YEARS);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        // Since March. Five months of it have 153 days, twice in a year.
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        Self { year: cycle * 400 + year + next_year, month, day }
    }

    /// None for days before 1970.
    fn unix_days(self) -> Option<u64> {
        let (year, month) =
            if self.month > 2 { (self.year, self.month - 3) } else { (self.year.checked_sub(1)?, self.month + 9) };
        let leap_days = year / 4 - year / 100 + year / 400;
        let days = 365 * year + leap_days + (153 * month + 2) / 5 + self.day;
        days.checked_sub(DAYS_BEFORE_1970 + 1)
    }
}

/// The first second of a day in UTC, written as `2026-11-18`; None if it is no such day, or one before 1970.
#[must_use]
pub fn parse_day(text: &str) -> Option<u64> {
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
    };
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *text.as_bytes() else { return None };
    let date = Date { year: number(&[y1, y2, y3, y4])?, month: number(&[m1, m2])?, day: number(&[d1, d2])? };
    // A day that does not exist, like February 30, is another one when it is written again.
    let days = date.unix_days().filter(|days| Date::from_unix_days(*days) == date)?;
    Some(days * SECONDS_PER_DAY)
}

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Date { year, month, day } = Date::from_unix_days(self.seconds / SECONDS_PER_DAY);
        let second = self.seconds % SECONDS_PER_DAY;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        // One write instead of one per number: lists show many times.
        let digit = |number: u64, place: u64| {
            let [digit, ..] = (number / place % 10).to_le_bytes();
            b'0' + digit
        };
        #[rustfmt::skip]
        let text = [
            digit(year, 1_000), digit(year, 100), digit(year, 10), digit(year, 1),
            b'-', digit(month, 10), digit(month, 1), b'-', digit(day, 10), digit(day, 1),
            b'T', digit(hour, 10), digit(hour, 1), b':', digit(minute, 10), digit(minute, 1),
            b':', digit(second, 10), digit(second, 1),
            b'.', digit(self.millis, 100), digit(self.millis, 10), digit(self.millis, 1),
        ];
        let text = str::from_utf8(&text).map_err(|_| fmt::Error)?;
        let text = if f.precision() == Some(0) { text.get(..19) } else { Some(text) }.ok_or(fmt::Error)?;
        match text.get(4..) {
            Some(rest) if year > 9999 => write!(f, "+{year:06}{rest}Z"),
            _ => {
                f.write_str(text)?;
                f.write_char('Z')
            }
        }
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
        for text in [
            "",
            "2026-02-29",
            "2026-11-15T00:00",
            "15.11.2026",
            "1969-12-31",
            "20261115",
            "2026-00-10",
            "2026-13-01",
            "2026-11-00",
        ] {
            assert_eq!(parse_day(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_the_calendar_is_the_one_after_the_day_before() {
        let mut expected = Date { year: 1970, month: 1, day: 1 };
        for days in 0..DAYS_PER_400_YEARS + 1_000 {
            let date = Date::from_unix_days(days);
            assert_eq!((date, date.unix_days()), (expected, Some(days)));
            let is_leap_year =
                date.year.is_multiple_of(4) && (!date.year.is_multiple_of(100) || date.year.is_multiple_of(400));
            let days_of_month = match date.month {
                2 if is_leap_year => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (date.month, date.day) {
                (12, 31) => Date { year: date.year + 1, month: 1, day: 1 },
                (_, day) if day == days_of_month => Date { month: date.month + 1, day: 1, ..date },
                (_, day) => Date { day: day + 1, ..date },
            };
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
        assert_eq!(formatted(253_402_300_799), "9999-12-31T23:59:59.000Z");
        assert_eq!(formatted(253_402_300_800), "+010000-01-01T00:00:00.000Z");
        assert_eq!(formatted(317_364_220_800 - 1), "+012026-11-14T23:59:59.000Z");
        assert_eq!(formatted(u64::MAX), "+584554051223-11-09T07:00:15.000Z");
        assert_eq!(UtcTime::from_unix_millis(u64::MAX).to_string(), "+584556019-04-03T14:25:51.615Z");
    }
}
