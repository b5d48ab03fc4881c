//! Serves the API and the pages on one port.

use std::{sync::Arc, time::Instant};

use axum::{Router, extract::Request, http::StatusCode, response::Response};
use tower::ServiceExt;

use crate::requests::Requests;

/// Path prefixes of the API and its reference. All other paths are pages.
const API_PREFIXES: [&str; 5] = ["/api", "/docs", "/health", "/v2/api", "/sourcify"];

pub(crate) fn router(api: Router, pages: Router, requests: Arc<Requests>) -> Router {
    Router::new().fallback(async move |request: Request| {
        let (started, path) = (Instant::now(), request.uri().path());
        let (route, is_page) = (requests.route(path), !is_api_path(path));
        let site = if is_page { pages.clone() } else { api.clone() };
        // A router is infallible.
        let response: Response = match site.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        requests.record(route, response.status(), started.elapsed());
        if is_page && response.status() == StatusCode::TOO_MANY_REQUESTS {
            requests.count_limited_page();
        }
        response
    })
}

fn is_api_path(path: &str) -> bool {
    API_PREFIXES
        .iter()
        .any(|start| path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_only_starts_like_the_api_is_a_page() {
        assert!(
            ["/api/v1/stats", "/api", "/health/live", "/docs", "/docs/docs.js", "/v2/api"].into_iter().all(is_api_path)
        );
        assert!(!["/", "/apiary", "/blocks", "/doc", "/healthy", "/v2"].into_iter().any(is_api_path));
    }
}
