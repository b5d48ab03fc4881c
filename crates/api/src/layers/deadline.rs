use std::time::Duration;

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::time::timeout;

use crate::error::ApiError;

/// No list and no look-up takes a fraction of this; one that does is stuck.
const DEADLINE: Duration = Duration::from_secs(30);

/// Verifying waits for its turn, may have a compiler to fetch, and tries many settings. It bounds each of these itself.
const VERIFICATION_DEADLINE: Duration = Duration::from_secs(300);
const VERIFICATION: &str = "/api/v1/verify";

pub(super) async fn answer_in_time(request: Request, next: Next) -> Response {
    let deadline = if request.uri().path() == VERIFICATION { VERIFICATION_DEADLINE } else { DEADLINE };
    match timeout(deadline, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::DeadlineExceeded.into_response(),
    }
}
