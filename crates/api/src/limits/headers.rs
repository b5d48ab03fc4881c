use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{
    Quota, Verdict,
    pass_log::{Standing, WINDOW},
};

pub(crate) const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
pub(crate) const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
pub(crate) const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
pub(crate) const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub(crate) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

impl Verdict {
    /// Tells how the caller stands. `unix_now` is the time since 1970.
    pub(crate) fn write_headers(&self, headers: &mut HeaderMap, unix_now: Duration) {
        let Some(tightest) = self.tightest() else { return };
        let named = self.quotas().next().map_or(tightest.limit, |quota| quota.standing.limit);
        headers.insert(LIMIT, named.into());
        headers.insert(REMAINING, tightest.remaining.into());
        headers.insert(RESET, whole_seconds(unix_now + tightest.until_more).into());
        let mut now = String::with_capacity(64);
        let mut policy = String::with_capacity(64);
        for Quota { name, standing } in self.quotas() {
            let separator = if now.is_empty() { "" } else { ", " };
            let Standing { limit, remaining, until_more } = standing;
            now.push_str(&format!("{separator}\"{name}\";r={remaining};t={}", whole_seconds(*until_more)));
            policy.push_str(&format!("{separator}\"{name}\";q={limit};w={}", WINDOW.as_secs()));
        }
        insert(headers, RATE_LIMIT, now);
        insert(headers, POLICY, policy);
    }

    /// Seconds after which the caller is not refused again.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        let full = self.quotas().filter(|quota| quota.standing.remaining == 0);
        self.refused.then(|| full.map(|quota| whole_seconds(quota.standing.until_more)).max().unwrap_or(1).max(1))
    }

    /// The quota that ends first.
    fn tightest(&self) -> Option<Standing> {
        let standings = self.quotas().map(|quota| quota.standing);
        standings.min_by_key(|standing| (standing.remaining, std::cmp::Reverse(standing.until_more)))
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: String) {
    // Letters, digits and a few signs, which every header may hold.
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// Rounded up: who comes after that many seconds does not come too early.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(limit: u32, remaining: u32, millis: u64) -> Standing {
        Standing { limit, remaining, until_more: Duration::from_millis(millis) }
    }

    fn written(verdict: &Verdict) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        verdict.write_headers(&mut headers, Duration::from_millis(1_000_500));
        headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    fn expect(verdict: &Verdict, expected: [(&str, &str); 5]) {
        assert_eq!(written(verdict), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_anonymous_caller_is_told_of_one_quota() {
        let verdict = Verdict::new([Some(Quota { name: "anonymous", standing: standing(10, 9, 59_001) }), None]);
        expect(
            &verdict,
            [
                ("x-ratelimit-limit", "10"),
                ("x-ratelimit-remaining", "9"),
                ("x-ratelimit-reset", "1060"),
                ("ratelimit", "\"anonymous\";r=9;t=60"),
                ("ratelimit-policy", "\"anonymous\";q=10;w=60"),
            ],
        );
        assert_eq!(verdict.retry_after(), None);
    }

    #[test]
    fn of_two_quotas_the_tighter_one_decides_what_remains() {
        let mut verdict = Verdict::new([
            Some(Quota { name: "key", standing: standing(100, 7, 1_000) }),
            Some(Quota { name: "ip", standing: standing(600, 0, 2_200) }),
        ]);
        verdict.refused = true;
        expect(
            &verdict,
            [
                ("x-ratelimit-limit", "100"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1003"),
                ("ratelimit", "\"key\";r=7;t=1, \"ip\";r=0;t=3"),
                ("ratelimit-policy", "\"key\";q=100;w=60, \"ip\";q=600;w=60"),
            ],
        );
        assert_eq!(verdict.retry_after(), Some(3));
    }

    #[test]
    fn without_a_limit_nothing_is_told() {
        assert!(written(&Verdict::new([None, None])).is_empty());
    }
}
