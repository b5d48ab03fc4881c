use std::sync::Arc;

use admission::{LimitConfig, PageBudget, RateLimits};
use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode, header},
    routing::get,
};
use client_address::TrustedProxies;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Admission, AllowedOrigins, IndexedBlock, url_length::MAX_URL_BYTES};
use crate::{
    json_response::{Freshness, JsonResponse},
    keys::{KeyRing, memory::MemoryRecords},
    response_cache::ResponseCache,
};

/// Wraps a router in the layers of the API, without rate limits and without a response cache.
pub(crate) fn wrap(router: Router) -> Router {
    wrap_with_cache(router, ResponseCache::new(0, Box::new(|| None), Arc::default()))
}

/// The same, with a response cache.
pub(crate) fn wrap_with_cache(router: Router, cache: ResponseCache) -> Router {
    let admission = Admission {
        keys: Arc::new(KeyRing::new(Arc::new(MemoryRecords::default()))),
        limits: Arc::new(RateLimits::new(LimitConfig { anonymous: None, keyed_client: None })),
        page_budget: Arc::new(PageBudget::new(None, TrustedProxies::default())),
        proxies: TrustedProxies::default(),
        metrics: Arc::default(),
    };
    super::wrap(router, Arc::new(admission), cache, Vec::new(), IndexedBlock::none(), AllowedOrigins::Any)
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
    }

    fn problem_code(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["status"], self.status.as_u16());
        problem["code"].clone()
    }
}

fn explode() -> JsonResponse<u8> {
    panic!("boom in a handler")
}

async fn send(request: Request<Body>) -> Reply {
    let numbers: Vec<u32> = (0..1000).collect();
    let router = Router::new()
        .route("/numbers", get(async move || JsonResponse::new(numbers, Freshness::UntilNextBlock)))
        .route("/panic", get(async || explode()));
    let response = wrap(router).oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Reply { status: parts.status, headers: parts.headers, body }
}

fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path)
}

async fn send_plain(method: &str, path: &str) -> Reply {
    send(request(method, path).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn an_unknown_path_is_a_404_problem() {
    let reply = send_plain("GET", "/nowhere").await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    assert_eq!(reply.problem_code(), "route_not_found");
    assert_eq!(reply.header("cache-control"), "no-store");
}

#[tokio::test]
async fn a_wrong_method_is_a_405_problem_with_an_allow_header() {
    for method in ["POST", "DELETE", "BREW"] {
        let reply = send_plain(method, "/numbers").await;
        assert_eq!(reply.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(reply.problem_code(), "method_not_allowed");
        assert_eq!(reply.header("allow"), "GET,HEAD");
    }
}

#[tokio::test]
async fn head_responds_like_get_without_the_body() {
    let get = send_plain("GET", "/numbers").await;
    let head = send_plain("HEAD", "/numbers").await;
    assert_eq!(head.status, StatusCode::OK);
    assert!(head.body.is_empty());
    assert_eq!(head.header("etag"), get.header("etag"));
    assert_eq!(head.header("content-length"), get.body.len().to_string());
}

#[tokio::test]
async fn a_url_longer_than_8_kib_is_rejected() {
    let at_the_limit = format!("/numbers?x={}", "a".repeat(MAX_URL_BYTES - "/numbers?x=".len()));
    assert_eq!(send_plain("GET", &at_the_limit).await.status, StatusCode::OK);

    let reply = send_plain("GET", &format!("{at_the_limit}a")).await;
    assert_eq!(reply.status, StatusCode::URI_TOO_LONG);
    assert_eq!(reply.problem_code(), "uri_too_long");
}

#[tokio::test]
async fn a_panic_is_a_500_problem_that_hides_its_cause() {
    let reply = send(request("GET", "/panic").header("x-request-id", "trace-1").body(Body::empty()).unwrap()).await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(reply.problem_code(), "internal_error");
    assert!(!String::from_utf8(reply.body.clone()).unwrap().contains("boom"));
    assert_eq!(reply.header("x-request-id"), "trace-1");
    assert_eq!(reply.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn every_response_has_nosniff_and_a_request_id() {
    for path in ["/numbers", "/nowhere", "/panic"] {
        let reply = send_plain("GET", path).await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(reply.header("x-request-id").len(), 32);
    }
}

#[tokio::test]
async fn a_request_id_that_is_unsafe_to_log_is_replaced() {
    let reply = send(request("GET", "/numbers").header("x-request-id", "a b").body(Body::empty()).unwrap()).await;
    assert_eq!(reply.header("x-request-id").len(), 32);
}

#[tokio::test]
async fn a_matching_etag_is_answered_with_304_without_a_body() {
    let first = send_plain("GET", "/numbers").await;
    let tag = first.header("etag").to_owned();
    let second = send(request("GET", "/numbers").header("if-none-match", &tag).body(Body::empty()).unwrap()).await;
    assert_eq!(second.status, StatusCode::NOT_MODIFIED);
    assert!(second.body.is_empty());
    assert_eq!(second.header("etag"), tag);
    assert_eq!(second.header("cache-control"), "no-cache");
    assert!(!second.headers.contains_key(header::CONTENT_TYPE));

    let stale = send(request("GET", "/numbers").header("if-none-match", "\"x\"").body(Body::empty()).unwrap()).await;
    assert_eq!(stale.status, StatusCode::OK);
    assert_eq!(stale.body, first.body);
}

#[tokio::test]
async fn bodies_are_compressed_if_the_client_accepts_it() {
    let plain = send_plain("GET", "/numbers").await;
    assert!(!plain.headers.contains_key(header::CONTENT_ENCODING));
    // The second is sent by browsers.
    for accepted in ["gzip", "gzip, deflate, br, zstd"] {
        let request = request("GET", "/numbers").header("accept-encoding", accepted).body(Body::empty()).unwrap();
        let reply = send(request).await;
        assert_eq!(reply.header("content-encoding"), "gzip");
        assert_eq!(reply.header("vary"), "accept-encoding");
        assert_eq!(reply.header("etag"), plain.header("etag"));
        assert!(reply.body.len() < plain.body.len());
    }
}

#[tokio::test]
async fn a_page_of_any_origin_may_call_the_api() {
    let preflight = request("OPTIONS", "/numbers")
        .header("origin", "https://example.org")
        .header("access-control-request-method", "GET")
        .header("access-control-request-headers", "x-api-key")
        .body(Body::empty())
        .unwrap();
    let reply = send(preflight).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("access-control-allow-origin"), "*");
    assert_eq!(reply.header("access-control-allow-headers"), "*");
    assert!(reply.header("access-control-allow-methods").contains("GET"));

    let reply = send(request("GET", "/numbers").header("origin", "null").body(Body::empty()).unwrap()).await;
    assert_eq!(reply.header("access-control-allow-origin"), "*");
    assert_eq!(
        reply.header("access-control-expose-headers"),
        "etag,retry-after,x-request-id,x-explorer-block,x-ratelimit-cost,x-ratelimit-limit,x-ratelimit-remaining,x-ratelimit-reset,ratelimit,ratelimit-policy"
    );
}

#[tokio::test]
async fn a_page_of_any_origin_may_post_json() {
    let preflight = request("OPTIONS", "/numbers")
        .header("origin", "https://example.org")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type")
        .body(Body::empty())
        .unwrap();
    let reply = send(preflight).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(reply.header("access-control-allow-methods").split(',').any(|method| method == "POST"));
    assert_eq!(reply.header("access-control-allow-headers"), "*");
}

#[tokio::test]
async fn a_body_on_a_get_is_ignored() {
    let reply = send(request("GET", "/numbers").body(Body::from("{\"page\": 7}")).unwrap()).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(serde_json::from_slice::<Value>(&reply.body).unwrap()[999], json!(999));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_exceeds_its_deadline_is_a_503_problem() {
    let router = Router::new().route("/hang", get(async || std::future::pending::<()>().await));
    let response = wrap(router).oneshot(request("GET", "/hang").body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(response.headers().contains_key(header::RETRY_AFTER));
}
