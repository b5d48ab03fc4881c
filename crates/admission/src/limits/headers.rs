use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::{
    decision::{LimitDecision, Quota},
    request_log::{QuotaState, WINDOW},
};

/// What the request cost.
pub const COST: HeaderName = HeaderName::from_static("x-ratelimit-cost");
pub const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
pub const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
pub const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
pub const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

impl LimitDecision {
    /// Writes the rate limit headers. `unix_now` is the time since 1970.
    pub fn write_headers(&self, headers: &mut HeaderMap, unix_now: Duration) {
        headers.insert(COST, self.cost.into());
        let Some(tightest) = self.tightest() else { return };
        let limit = self.quotas().next().map_or(tightest.limit, |quota| quota.state.limit);
        headers.insert(LIMIT, limit.into());
        headers.insert(REMAINING, tightest.remaining.into());
        headers.insert(RESET, whole_seconds(unix_now + tightest.until_more).into());
        let mut now = String::with_capacity(64);
        let mut policy = String::with_capacity(64);
        for Quota { name, state } in self.quotas() {
            let separator = if now.is_empty() { "" } else { ", " };
            let QuotaState { limit, remaining, until_more } = state;
            now.push_str(&format!("{separator}\"{name}\";r={remaining};t={}", whole_seconds(*until_more)));
            policy.push_str(&format!("{separator}\"{name}\";q={limit};w={}", WINDOW.as_secs()));
        }
        insert(headers, RATE_LIMIT, now);
        insert(headers, POLICY, policy);
    }

    /// Seconds after which a request is allowed again; None if this one is.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        self.rejected
            .then(|| self.exceeded().map(|quota| whole_seconds(quota.state.until_more)).max().unwrap_or(1).max(1))
    }

    /// The quota that will be used up first.
    fn tightest(&self) -> Option<QuotaState> {
        let states = self.quotas().map(|quota| quota.state);
        states.min_by_key(|state| (state.remaining, std::cmp::Reverse(state.until_more)))
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: String) {
    // Cannot fail: the value is ASCII without control characters.
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(name, value);
    }
}

/// Rounded up, so that a client that waits that long is not too early.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(limit: u32, remaining: u32, millis: u64) -> QuotaState {
        QuotaState { limit, remaining, until_more: Duration::from_millis(millis) }
    }

    fn written(decision: &LimitDecision) -> Vec<(String, String)> {
        let mut headers = HeaderMap::new();
        decision.write_headers(&mut headers, Duration::from_millis(1_000_500));
        headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect()
    }

    fn expect(decision: &LimitDecision, expected: [(&str, &str); 6]) {
        assert_eq!(written(decision), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_anonymous_caller_gets_the_headers_of_one_quota() {
        let quotas = [Some(Quota { name: "anonymous", state: state(10, 9, 59_001) }), None];
        let decision = LimitDecision { rejected: false, cost: 1, quotas };
        expect(
            &decision,
            [
                ("x-ratelimit-cost", "1"),
                ("x-ratelimit-limit", "10"),
                ("x-ratelimit-remaining", "9"),
                ("x-ratelimit-reset", "1060"),
                ("ratelimit", "\"anonymous\";r=9;t=60"),
                ("ratelimit-policy", "\"anonymous\";q=10;w=60"),
            ],
        );
        assert_eq!(decision.retry_after(), None);
    }

    #[test]
    fn remaining_and_reset_are_those_of_the_tighter_quota() {
        let quotas = [
            Some(Quota { name: "key", state: state(100, 7, 1_000) }),
            Some(Quota { name: "ip", state: state(600, 0, 2_200) }),
        ];
        let decision = LimitDecision { rejected: true, cost: 1, quotas };
        expect(
            &decision,
            [
                ("x-ratelimit-cost", "1"),
                ("x-ratelimit-limit", "100"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1003"),
                ("ratelimit", "\"key\";r=7;t=1, \"ip\";r=0;t=3"),
                ("ratelimit-policy", "\"key\";q=100;w=60, \"ip\";q=600;w=60"),
            ],
        );
        assert_eq!(decision.retry_after(), Some(3));
    }

    #[test]
    fn without_a_limit_there_is_only_the_cost() {
        assert_eq!(written(&LimitDecision::unlimited(3)), [("x-ratelimit-cost".to_owned(), "3".to_owned())]);
    }
}
