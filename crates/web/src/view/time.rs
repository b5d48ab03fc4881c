//! Times as an age, with the exact time as a tooltip.

use askama::{Template, filters::HtmlSafe};
use domain::UtcTime;

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
        Self::seen_at(unix_seconds, unix_time::seconds())
    }

    fn seen_at(unix_seconds: u64, now: u64) -> Self {
        let iso = format!("{:.0}", UtcTime::from_unix_seconds(unix_seconds));
        let exact = iso.replace('T', " ").replace('Z', " UTC");
        Self { iso, exact, ago: ago(now.saturating_sub(unix_seconds)) }
    }

    pub(crate) fn exact(&self) -> &str {
        &self.exact
    }
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
