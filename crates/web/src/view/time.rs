//! Times as an age, with the exact time as a tooltip.

use std::time::{SystemTime, UNIX_EPOCH};

use askama::{Template, filters::HtmlSafe};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

#[derive(Debug, Clone, Template)]
#[template(source = r#"<time datetime="{{ iso }}" title="{{ exact }}">{{ ago }}</time>"#, ext = "html")]
pub(crate) struct Moment {
    iso: String,
    exact: String,
    ago: String,
}

impl HtmlSafe for Moment {}

impl Moment {
    pub(crate) fn of(unix_seconds: u64) -> Self {
        Self::seen_at(unix_seconds, now())
    }

    fn seen_at(unix_seconds: u64, now: u64) -> Self {
        let Civil { year, month, day } = civil(unix_seconds / DAY);
        let second_of_day = unix_seconds % DAY;
        let clock =
            format!("{:02}:{:02}:{:02}", second_of_day / HOUR, second_of_day % HOUR / MINUTE, second_of_day % MINUTE);
        Self {
            iso: format!("{year:04}-{month:02}-{day:02}T{clock}Z"),
            exact: format!("{year:04}-{month:02}-{day:02} {clock} UTC"),
            ago: ago(now.saturating_sub(unix_seconds)),
        }
    }

    pub(crate) fn exact(&self) -> &str {
        &self.exact
    }
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// `explorer.js` has the same rules, to update ages while a page is open.
fn ago(seconds: u64) -> String {
    match seconds {
        0..MINUTE => format!("{seconds} s ago"),
        MINUTE..HOUR => format!("{} min ago", seconds / MINUTE),
        HOUR..DAY => format!("{} h ago", seconds / HOUR),
        _ => {
            let days = seconds / DAY;
            if days == 1 { "1 day ago".to_owned() } else { format!("{days} days ago") }
        }
    }
}

struct Civil {
    year: u64,
    month: u64,
    day: u64,
}

/// The date of a day since 1970. Years start in March, so that the leap day is the last one.
fn civil(days_since_1970: u64) -> Civil {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_OF_ERA: u64 = 146_097;
    let days = days_since_1970 + DAYS_TO_1970;
    let day_of_era = days % DAYS_OF_ERA;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    Civil {
        year: days / DAYS_OF_ERA * 400 + year_of_era + u64::from(month <= 2),
        month,
        day: day_of_year - (153 * march_month + 2) / 5 + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_its_exact_time_and_its_age() {
        let moment = Moment::seen_at(1_700_000_000, 1_700_000_000 + 90);
        assert_eq!(moment.iso, "2023-11-14T22:13:20Z");
        assert_eq!(moment.exact(), "2023-11-14 22:13:20 UTC");
        assert_eq!(moment.ago, "1 min ago");
    }

    #[test]
    fn leap_days_and_ends_of_years_are_correct() {
        assert_eq!(Moment::seen_at(0, 0).iso, "1970-01-01T00:00:00Z");
        assert_eq!(Moment::seen_at(951_782_400, 0).iso, "2000-02-29T00:00:00Z");
        assert_eq!(Moment::seen_at(4_102_444_799, 0).iso, "2099-12-31T23:59:59Z");
    }

    #[test]
    fn ages_are_in_the_largest_unit() {
        assert_eq!(
            [5, 59, 60, 3_599, 3_600, 86_400, 200_000].map(ago),
            ["5 s ago", "59 s ago", "1 min ago", "59 min ago", "1 h ago", "1 day ago", "2 days ago"]
        );
    }

    #[test]
    fn a_time_in_the_future_has_age_zero() {
        assert_eq!(Moment::seen_at(100, 50).ago, "0 s ago");
    }
}
