use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use axum::{
    Router,
    extract::{Path, Request},
    http::{HeaderMap, Method},
    routing::{get, post},
};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::*;
use crate::{
    json_response::{Freshness, JsonResponse},
    layers::tests::wrap_with_cache,
};

/// A router that counts rendered responses, behind the layers, and an index version that can be set.
struct TestServer {
    router: Router,
    rendered: Arc<AtomicU64>,
    version: Arc<Mutex<Option<u64>>>,
}

fn index_version(version: u64) -> IndexVersion {
    IndexVersion { chain: StateVersion(version), verified: StateVersion(0), names: 0, tip: None, interval: None }
}

impl TestServer {
    fn with_cache(bytes: u64) -> Self {
        let (rendered, version) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Some(1))));
        let count = {
            let rendered = Arc::clone(&rendered);
            move || rendered.fetch_add(1, SeqCst)
        };
        let (one, other, query, changing) = (count.clone(), count.clone(), count.clone(), count);
        let changed = Arc::clone(&version);
        let router = Router::new()
            .route("/api/v1/cached/{id}", get(async move |Path(id): Path<u64>| cacheable(vec![id, one()])))
            .route("/api/v1/uncached", get(async move || JsonResponse::new(vec![other()], Freshness::UntilNextBlock)))
            .route("/api/v1/query", post(async move |body: String| cacheable((body, query()))))
            .route("/api/v1/failing", get(async || (StatusCode::NOT_FOUND, cacheable(0))))
            .route(
                "/api/v1/changing",
                get(async move || {
                    *changed.lock().unwrap() = Some(2);
                    cacheable(changing())
                }),
            )
            .route("/api/v1/long", get(async || cacheable("long ".repeat(1_000))));
        let current = Arc::clone(&version);
        let cache =
            ResponseCache::new(bytes, Box::new(move || current.lock().unwrap().map(index_version)), Arc::default());
        Self { router: wrap_with_cache(router, cache), rendered, version }
    }

    fn new() -> Self {
        Self::with_cache(1 << 20)
    }

    fn set_version(&self, version: Option<u64>) {
        *self.version.lock().unwrap() = version;
    }

    async fn send(&self, request: Request) -> (StatusCode, HeaderMap, Bytes) {
        let (head, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        (head.status, head.headers, body.collect().await.unwrap().to_bytes())
    }

    async fn get(&self, path: &str) -> Bytes {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await.2
    }

    fn rendered(&self) -> u64 {
        self.rendered.load(SeqCst)
    }
}

fn cacheable<T: serde::Serialize>(value: T) -> JsonResponse<T> {
    JsonResponse::new(value, Freshness::UntilNextBlock).cacheable()
}

#[tokio::test]
async fn a_response_is_rendered_once_per_index_version() {
    let server = TestServer::new();
    let first = server.get("/api/v1/cached/1").await;
    assert_eq!(server.get("/api/v1/cached/1").await, first);
    assert_eq!(server.rendered(), 1);
    assert_ne!(server.get("/api/v1/cached/2").await, first);
    server.set_version(Some(2));
    assert_ne!(server.get("/api/v1/cached/1").await, first);
    assert_eq!(server.rendered(), 3);
}

#[tokio::test]
async fn the_cache_is_bypassed_while_the_index_changes() {
    let server = TestServer::new();
    server.get("/api/v1/cached/1").await;
    server.set_version(None);
    server.get("/api/v1/cached/1").await;
    server.get("/api/v1/cached/1").await;
    assert_eq!(server.rendered(), 3);
    server.set_version(Some(1));
    server.get("/api/v1/cached/1").await;
    assert_eq!(server.rendered(), 3, "the entry of version 1 is still valid");
}

#[tokio::test]
async fn a_response_is_not_cached_if_the_index_changed_meanwhile() {
    let server = TestServer::new();
    server.get("/api/v1/changing").await;
    server.get("/api/v1/changing").await;
    assert_eq!(server.rendered(), 2, "the version changed during rendering");
    server.get("/api/v1/changing").await;
    assert_eq!(server.rendered(), 2);
}

#[tokio::test]
async fn only_successful_responses_marked_as_cacheable_are_cached() {
    let server = TestServer::new();
    server.get("/api/v1/uncached").await;
    server.get("/api/v1/uncached").await;
    assert_eq!(server.rendered(), 2);
    for _ in 0..2 {
        let failed = server.send(Request::get("/api/v1/failing").body(Body::empty()).unwrap()).await;
        assert_eq!(failed.0, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn a_cache_hit_differs_only_in_the_request_id() {
    let server = TestServer::new();
    let send = || Request::get("/api/v1/cached/1").body(Body::empty()).unwrap();
    let ((status, mut first, body), (second_status, mut second, second_body)) =
        (server.send(send()).await, server.send(send()).await);
    assert_eq!(server.rendered(), 1);
    assert_ne!(first.remove("x-request-id"), second.remove("x-request-id"));
    assert_eq!((status, first, body), (second_status, second, second_body));
}

#[tokio::test]
async fn a_matching_etag_is_answered_with_304_from_the_cache() {
    let server = TestServer::new();
    let (_, headers, _) = server.send(Request::get("/api/v1/cached/1").body(Body::empty()).unwrap()).await;
    let request = Request::get("/api/v1/cached/1").header("if-none-match", &headers["etag"]);
    let (status, _, body) = server.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!((status, body.len(), server.rendered()), (StatusCode::NOT_MODIFIED, 0, 1));
}

#[tokio::test]
async fn head_is_not_answered_from_the_cache() {
    let server = TestServer::new();
    server.get("/api/v1/cached/1").await;
    let request = Request::builder().method(Method::HEAD).uri("/api/v1/cached/1").body(Body::empty()).unwrap();
    let (status, _, body) = server.send(request).await;
    assert_eq!((status, body.len(), server.rendered()), (StatusCode::OK, 0, 2));
}

#[tokio::test]
async fn each_encoding_is_cached_separately() {
    let server = TestServer::new();
    let send = |encoding: &str| {
        let request = Request::get("/api/v1/long").header("accept-encoding", encoding);
        server.send(request.body(Body::empty()).unwrap())
    };
    for _ in 0..2 {
        let (_, gzip, compressed) = send("gzip").await;
        assert_eq!(
            (&gzip["content-encoding"], &gzip["vary"]),
            (&"gzip".parse().unwrap(), &"accept-encoding".parse().unwrap())
        );
        let (_, plain, body) = send("identity").await;
        assert!(!plain.contains_key("content-encoding") && compressed.len() < body.len());
        assert_eq!(plain["etag"], gzip["etag"]);
    }
}

#[tokio::test]
async fn a_query_is_cached_by_its_body() {
    let server = TestServer::new();
    let send = async |body: &'static str| {
        let request = Request::post("/api/v1/query").header("content-type", "application/json");
        let request = request.header("content-length", body.len()).body(Body::from(body)).unwrap();
        server.send(request).await.2
    };
    let first = send("{}").await;
    assert_eq!(send("{}").await, first);
    assert_ne!(send("{ }").await, first);
    assert_eq!(server.rendered(), 2);
}

#[tokio::test]
async fn the_cache_does_not_exceed_its_size() {
    let server = TestServer::with_cache(64 * 1024);
    for _ in 0..2 {
        for id in 0..1_000 {
            server.get(&format!("/api/v1/cached/{id}")).await;
        }
    }
    assert!(server.rendered() > 1_900, "{}", server.rendered());
}
