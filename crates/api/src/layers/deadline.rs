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

pub(super) async fn answer_in_time(request: Request, next: Next) -> Response {
    match timeout(DEADLINE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::DeadlineExceeded.into_response(),
    }
}
