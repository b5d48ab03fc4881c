//! Counts requests by route and status. A route is a pattern such as `/block/{id}`, so there are as many as the code has.

use std::time::Duration;

use axum::http::StatusCode;
use matchit::Router;
use metrics::{Counter, Histogram, Text};

/// The route of requests that match none.
const UNMATCHED: &str = "unmatched";

/// Counted one by one; other statuses are counted together.
const STATUSES: [u16; 27] = [
    200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 413, 414, 415, 422,
    429, 500, 503, 504,
];

pub(crate) struct HttpMetrics {
    /// Indexes of `routes` by path.
    table: Router<usize>,
    routes: Vec<Route>,
    unmatched: Route,
    /// Pages that were refused, since their client has seen too many.
    pages_limited: Counter,
}

struct Route {
    pattern: String,
    /// In the order of the statuses, and one for all others.
    statuses: [Counter; STATUSES.len() + 1],
    times: Histogram,
}

/// The route of one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteIndex(Option<usize>);

impl HttpMetrics {
    /// # Errors
    /// If two patterns match the same paths.
    pub(crate) fn new(patterns: impl IntoIterator<Item = String>) -> anyhow::Result<Self> {
        let mut table = Router::new();
        let mut routes = Vec::new();
        for pattern in patterns {
            table.insert(&pattern, routes.len())?;
            routes.push(Route::new(pattern));
        }
        Ok(Self { table, routes, unmatched: Route::new(UNMATCHED.to_owned()), pages_limited: Counter::new() })
    }

    /// The routes of the API, its dialects and the pages.
    pub(crate) fn of_site() -> anyhow::Result<Self> {
        let pages = web::list_routes().into_iter().map(str::to_owned);
        Self::new(api::list_routes().into_iter().chain(dialects::list_routes()).chain(pages))
    }

    pub(crate) fn route(&self, path: &str) -> RouteIndex {
        RouteIndex(self.table.at(path).ok().map(|found| *found.value))
    }

    pub(crate) fn record(&self, route: RouteIndex, status: StatusCode, time: Duration) {
        let route = route.0.and_then(|index| self.routes.get(index)).unwrap_or(&self.unmatched);
        let index = STATUSES.iter().position(|known| *known == status.as_u16()).unwrap_or(STATUSES.len());
        if let Some(counter) = route.statuses.get(index) {
            counter.increment();
        }
        route.times.record_duration(time);
    }

    pub(crate) fn count_limited_page(&self) {
        self.pages_limited.increment();
    }

    pub(crate) fn pages_limited(&self) -> u64 {
        self.pages_limited.get()
    }
}

impl Route {
    fn new(pattern: String) -> Self {
        Self { pattern, statuses: Default::default(), times: Histogram::of_latencies() }
    }
}

/// Writes the requests; without any, only the names of the metrics.
pub(crate) fn write(text: &mut Text, metrics: Option<&HttpMetrics>) {
    let all = || metrics.into_iter().flat_map(|metrics| metrics.routes.iter().chain([&metrics.unmatched]));
    let mut counts = text.counter("explorer_http_requests_total", "Requests answered, by route and HTTP status.");
    for route in all() {
        let names = STATUSES.iter().map(u16::to_string).chain(["other".to_owned()]);
        for (status, counter) in names.zip(&route.statuses) {
            let count = Some(counter.get()).filter(|count| *count > 0);
            counts.sample(&[("route", &route.pattern), ("status", &status)], count);
        }
    }
    let mut times = text.histogram(
        "explorer_http_request_duration_seconds",
        "Time from a request to the head of its response, by route.",
    );
    for route in all().filter(|route| route.times.count() > 0) {
        times.buckets(&[("route", &route.pattern)], &route.times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_pattern_and_status() {
        let metrics = HttpMetrics::of_site().unwrap();
        for (path, status) in [
            ("/api/v1/blocks/7", 200),
            ("/api/v1/blocks/0xab", 404),
            ("/api/v1/blocks/8", 200),
            ("/block/7", 200),
            ("/", 200),
            ("/sourcify/v2/contract/all-chains/0x12", 418),
            ("/etc/passwd", 404),
            ("/block/7/7/7", 404),
        ] {
            metrics.record(metrics.route(path), StatusCode::from_u16(status).unwrap(), Duration::from_millis(2));
        }
        let mut text = Text::default();
        write(&mut text, Some(&metrics));
        let text = text.into_string();
        for line in [
            r#"explorer_http_requests_total{route="/api/v1/blocks/{numberOrHash}",status="200"} 2"#,
            r#"explorer_http_requests_total{route="/api/v1/blocks/{numberOrHash}",status="404"} 1"#,
            r#"explorer_http_requests_total{route="/block/{id}",status="200"} 1"#,
            r#"explorer_http_requests_total{route="/",status="200"} 1"#,
            r#"explorer_http_requests_total{route="/sourcify/v2/contract/all-chains/{address}",status="other"} 1"#,
            r#"explorer_http_requests_total{route="unmatched",status="404"} 2"#,
            r#"explorer_http_request_duration_seconds_count{route="/api/v1/blocks/{numberOrHash}"} 3"#,
        ] {
            assert!(text.lines().any(|written| written == line), "{line}\n{text}");
        }
        assert_eq!(text.lines().filter(|line| line.starts_with("explorer_http_requests_total{")).count(), 6);
    }
}
