use std::fmt;

const SECONDS_PER_DAY: u64 = 86_400;
/// From 1 March of the year 0 to 1 January 1970. In a year that starts in March the leap day is the last day.
const DAYS_BEFORE_1970: u64 = 719_468;
const DAYS_PER_400_YEARS: u64 = 146_097;
const DAYS_PER_CENTURY: u64 = 36_524;
const DAYS_PER_4_YEARS: u64 = 1_461;
const DAYS_PER_YEAR: u64 = 365;
const DAYS_OF_MONTHS_FROM_MARCH: [u64; 12] = [31, 30, 31, 30, 31, 31, 30, 31, 30, 31, 31, 29];

/// A time in UTC, formatted as ISO 8601 with milliseconds. Years after 9999 have a sign and six digits.
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

impl fmt::Display for UtcTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (u64::try_from(self.0 / 1_000).unwrap_or(u64::MAX), self.0 % 1_000);
        let (year, month, day) = civil_date(seconds / SECONDS_PER_DAY);
        let second_of_day = seconds % SECONDS_PER_DAY;
        let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
        // A chain may use any timestamp, also far in the future.
        if year > 9999 {
            return write!(f, "+{year:06}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z");
        }
        // Formatted into one buffer for speed, since responses contain many times.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let millis = u64::try_from(millis).unwrap_or_default();
        let fields = [(0..4, year), (5..7, month), (8..10, day), (11..13, hour), (14..16, minute), (17..19, second)];
        for (range, number) in fields.into_iter().chain([(20..23, millis)]) {
            write_digits(&mut text[range], number);
        }
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// Writes the last digits of a number, as many as fit.
fn write_digits(target: &mut [u8], mut number: u64) {
    for digit in target.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
}

/// Year, month and day of the Gregorian calendar, for a count of days since 1 January 1970.
fn civil_date(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + DAYS_BEFORE_1970;
    let mut rest = days % DAYS_PER_400_YEARS;
    // The last century of four and the last year of four have an extra day, so the quotients are capped.
    let centuries = (rest / DAYS_PER_CENTURY).min(3);
    rest -= centuries * DAYS_PER_CENTURY;
    let fours = rest / DAYS_PER_4_YEARS;
    rest %= DAYS_PER_4_YEARS;
    let years = (rest / DAYS_PER_YEAR).min(3);
    rest -= years * DAYS_PER_YEAR;

    let year_from_march = days / DAYS_PER_400_YEARS * 400 + centuries * 100 + fours * 4 + years;
    let mut months_since_march = 0;
    for length in DAYS_OF_MONTHS_FROM_MARCH {
        if rest < length {
            break;
        }
        rest -= length;
        months_since_march += 1;
    }
    if months_since_march < 10 {
        (year_from_march, months_since_march + 3, rest + 1)
    } else {
        (year_from_march + 1, months_since_march - 9, rest + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(seconds: u64) -> String {
        UtcTime::from_unix_seconds(seconds).to_string()
    }

    #[test]
    fn known_times_are_formatted_in_utc_with_milliseconds() {
        assert_eq!(formatted(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(formatted(1_438_269_973), "2015-07-30T15:26:13.000Z");
        assert_eq!(formatted(1_794_700_800), "2026-11-15T00:00:00.000Z");
        assert_eq!(formatted(4_102_444_799), "2099-12-31T23:59:59.000Z");
    }

    #[test]
    fn milliseconds_are_kept() {
        assert_eq!(UtcTime::from_unix_millis(1_794_700_800_007).to_string(), "2026-11-15T00:00:00.007Z");
        assert_eq!(UtcTime::from_unix_millis(999).to_string(), "1970-01-01T00:00:00.999Z");
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
    fn the_far_future_is_formatted_without_a_panic() {
        assert_eq!(formatted(253_402_300_799), "9999-12-31T23:59:59.000Z");
        assert_eq!(formatted(253_402_300_800), "+010000-01-01T00:00:00.000Z");
        assert!(formatted(u64::MAX).ends_with(".000Z"));
    }

    #[test]
    fn dates_are_consecutive_over_eight_centuries() {
        let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for count in 0..800 * 366 {
            assert_eq!(civil_date(count), (year, month, day));
            let length = match month {
                2 if leap(year) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
    }
}
