use std::time::Duration;

use axum::extract::Request;

/// No list and no look-up takes a fraction of this; one that does is stuck.
const DEADLINE: Duration = Duration::from_secs(30);

/// Verifying waits for its turn, may have a compiler to fetch, and tries many settings. It bounds each of these itself.
const VERIFICATION_DEADLINE: Duration = Duration::from_secs(300);
const VERIFICATION: &str = "/api/v1/verify";

/// How long the answer to a request may take.
pub(super) fn of(request: &Request) -> Duration {
    if request.uri().path() == VERIFICATION { VERIFICATION_DEADLINE } else { DEADLINE }
}
