//! Serves the API and the pages on one port.

use std::{sync::Arc, time::Instant};

use axum::{
    Router,
    extract::Request,
    http::{HeaderValue, StatusCode, Uri, header::LOCATION, uri::PathAndQuery},
    response::Response,
};
use tower::ServiceExt;
use web::BasePath;

use crate::admin::metrics::http::HttpMetrics;

/// Path prefixes of the API. All other paths are pages.
const API_PREFIXES: [&str; 4] = ["/api", "/health", "/v2/api", "/sourcify"];

pub(crate) fn router(api: Router, pages: Router, metrics: Arc<HttpMetrics>, base: BasePath) -> Router {
    Router::new().fallback(async move |mut request: Request| {
        strip(&base, &mut request);
        let (started, path) = (Instant::now(), request.uri().path());
        let (route, is_page) = (metrics.route(path), !is_api_path(path));
        let site = if is_page { pages.clone() } else { api.clone() };
        // A router is infallible.
        let mut response: Response = match site.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        metrics.record(route, response.status(), started.elapsed());
        if is_page && response.status() == StatusCode::TOO_MANY_REQUESTS {
            metrics.count_limited_page();
        }
        move_location(&base, &mut response);
        response
    })
}

/// Removes the base path from the path of a request. A proxy may have done so already.
fn strip(base: &BasePath, request: &mut Request) {
    let below = base.strip(request.uri().path()).filter(|_| !base.as_str().is_empty());
    let Some(path) = below.map(|rest| if rest.is_empty() { "/" } else { rest }) else { return };
    let target = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    if let Ok(target) = PathAndQuery::try_from(target) {
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(target);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
}

/// Redirects stay below the base path.
fn move_location(base: &BasePath, response: &mut Response) {
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let moved = location.filter(|path| path.starts_with('/') && !path.starts_with("//"));
    let moved = moved.map(|path| HeaderValue::try_from(format!("{}{path}", base.as_str())));
    if let Some(Ok(location)) = moved {
        response.headers_mut().insert(LOCATION, location);
    }
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
        assert!(["/api/v1/stats", "/api", "/health/live", "/v2/api"].into_iter().all(is_api_path));
        assert!(!["/", "/apiary", "/blocks", "/docs", "/healthy", "/v2"].into_iter().any(is_api_path));
    }
}
