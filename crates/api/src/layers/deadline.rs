use std::time::Duration;

use axum::extract::Request;

/// Lookups and lists take a fraction of this; a request that takes longer is stuck.
const DEADLINE: Duration = Duration::from_secs(30);

/// A verification waits in a queue, may download a compiler, and tries many settings. It limits each step itself.
const VERIFICATION_DEADLINE: Duration = Duration::from_secs(300);
const VERIFICATION: &str = "/api/v1/verify";

/// The time limit of a request.
pub(super) fn of(request: &Request) -> Duration {
    if request.uri().path() == VERIFICATION { VERIFICATION_DEADLINE } else { DEADLINE }
}
