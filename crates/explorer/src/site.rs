//! One port for the API and the pages.

use axum::{Router, extract::Request};
use tower::ServiceExt;

/// Where the API and its reference stand. Everything else is a page.
const OF_THE_API: [&str; 3] = ["/api", "/docs", "/health"];

pub(crate) fn router(api: Router, pages: Router) -> Router {
    Router::new().fallback(async move |request: Request| {
        let site = if is_of_the_api(request.uri().path()) { api.clone() } else { pages.clone() };
        // A router always answers.
        site.oneshot(request).await
    })
}

fn is_of_the_api(path: &str) -> bool {
    OF_THE_API.iter().any(|start| path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_begins_like_the_api_is_a_page() {
        assert!(["/api/v1/stats", "/api", "/health/live", "/docs", "/docs/docs.js"].into_iter().all(is_of_the_api));
        assert!(!["/", "/apiary", "/blocks", "/doc", "/healthy"].into_iter().any(is_of_the_api));
    }
}
