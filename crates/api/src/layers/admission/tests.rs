use std::{net::SocketAddr, num::NonZeroU32};

use admission::LimitConfig;
use axum::{
    Router,
    body::Body,
    extract::State,
    http::{StatusCode, request::Builder},
    middleware::Next,
    response::IntoResponse,
    routing::get,
};
use domain::{Address, UnixMillis};
use http_body_util::BodyExt;
use serde_json::Value;
use store::UserRecords;
use tower::ServiceExt;

use super::*;
use crate::{
    json_response::{Freshness, JsonResponse},
    keys::{KeyUses, OwnerGuard, issue_key, memory::MemoryRecords},
    layers,
    response_cache::ResponseCache,
};

const OWNER: Address = Address::repeat_byte(0xaa);
const NOW: UnixMillis = 1_800_000_000_000;

struct TestServer {
    router: Router,
    records: Arc<MemoryRecords>,
    keys: Arc<KeyRing>,
}

impl TestServer {
    fn new(limits: LimitConfig) -> Self {
        let records = Arc::new(MemoryRecords::default());
        let keys = Arc::new(KeyRing::new(records.clone()));
        let admission = Admission {
            keys: Arc::clone(&keys),
            limits: Arc::new(RateLimits::new(limits)),
            page_budget: Arc::new(PageBudget::new(None, TrustedProxies::default())),
            proxies: TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]),
            metrics: Arc::default(),
        };
        let handler = async || JsonResponse::new([1], Freshness::UntilNextBlock);
        let router = Router::new()
            .route("/api/v1/stats", get(handler))
            .route("/api/v1/openapi.json", get(handler))
            .route("/health", get(handler))
            .route("/api/v1/panic", get(async || explode()))
            .route(
                "/api/v1/mine",
                get(async |caller: Caller| OwnerGuard { caller, is_open: false }.must_be(OWNER).map(|()| "mine")),
            );
        Self {
            router: layers::wrap(
                router,
                Arc::new(admission),
                ResponseCache::new(0, Box::new(|| None), Arc::default()),
                Vec::new(),
                layers::IndexedBlock::none(),
                layers::AllowedOrigins::Any,
            ),
            records,
            keys,
        }
    }

    async fn key(&self) -> String {
        self.key_of(OWNER).await
    }

    async fn key_of(&self, owner: Address) -> String {
        issue_key(&*self.records, owner, String::new(), None, NOW).await.unwrap().text.reveal().to_owned()
    }

    async fn send(&self, request: Builder) -> Reply {
        let request = request.body(Body::empty()).unwrap();
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Reply { status: parts.status, headers: parts.headers, body: serde_json::from_slice(&body).unwrap_or_default() }
    }
}

fn explode() -> JsonResponse<u8> {
    panic!("boom")
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
    }

    fn remaining(&self) -> u32 {
        self.header("x-ratelimit-remaining").parse().unwrap()
    }
}

fn from(address: &str, path: &str) -> Builder {
    let peer: SocketAddr = format!("{address}:4711").parse().unwrap();
    Request::builder().uri(path).extension(ConnectInfo(peer))
}

fn stats(address: &str) -> Builder {
    from(address, "/api/v1/stats")
}

#[tokio::test]
async fn the_eleventh_anonymous_request_is_rejected_and_other_clients_are_not() {
    let server = TestServer::new(LimitConfig::default());
    for passed in 1..=10 {
        let reply = server.send(stats("192.0.2.1")).await;
        assert_eq!((reply.status, reply.remaining()), (StatusCode::OK, 10 - passed));
        assert_eq!(reply.header("x-ratelimit-limit"), "10");
        assert_eq!(reply.header("ratelimit-policy"), "\"anonymous\";q=10;w=60");
    }
    let reply = server.send(stats("192.0.2.1")).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reply.body["code"], "rate_limited");
    assert_eq!(reply.remaining(), 0);
    let wait: u64 = reply.header("retry-after").parse().unwrap();
    assert!((58..=61).contains(&wait), "{wait}");
    assert_eq!(reply.header("ratelimit"), format!("\"anonymous\";r=0;t={wait}"));
    let reset: u64 = reply.header("x-ratelimit-reset").parse().unwrap();
    assert!(reset.abs_diff(unix_time::now().as_secs() + wait) <= 1);

    assert_eq!(server.send(stats("192.0.2.2")).await.remaining(), 9);
    assert_eq!(server.send(stats("[2001:db8::1]")).await.remaining(), 9);
    assert_eq!(server.send(stats("[2001:db8::2]")).await.remaining(), 8);
    assert_eq!(server.send(stats("[::ffff:192.0.2.1]")).await.status, StatusCode::TOO_MANY_REQUESTS);
}

/// Only the test advances the clock of the limits.
#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_retry_after_is_served() {
    let server = TestServer::new(LimitConfig { anonymous: NonZeroU32::new(2), ..LimitConfig::default() });
    let advance = async |seconds: u64| tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
    assert_eq!(server.send(stats("192.0.2.1")).await.status, StatusCode::OK);
    advance(20).await;
    assert_eq!(server.send(stats("192.0.2.1")).await.status, StatusCode::OK);
    let refused = server.send(stats("192.0.2.1")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "41"));
    advance(40).await;
    assert_eq!(server.send(stats("192.0.2.1")).await.status, StatusCode::TOO_MANY_REQUESTS);
    advance(1).await;
    assert_eq!(server.send(stats("192.0.2.1")).await.status, StatusCode::OK);
    let refused = server.send(stats("192.0.2.1")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "20"));
}

#[tokio::test]
async fn the_101st_request_with_a_key_is_rejected() {
    let server = TestServer::new(LimitConfig::default());
    let key = server.key().await;
    for passed in 1..=100 {
        // The limit of a key is shared by all clients that use it.
        let reply = server.send(stats(&format!("192.0.2.{passed}")).header("X-API-Key", &key)).await;
        assert_eq!((reply.status, reply.remaining()), (StatusCode::OK, 100 - passed));
    }
    let reply = server.send(stats("192.0.2.1").header("X-API-Key", &key)).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reply.header("ratelimit-policy"), "\"key\";q=100;w=60");
    assert_eq!(server.send(stats("192.0.2.1")).await.remaining(), 9);
    let other = server.key().await;
    assert_eq!(server.send(stats("192.0.2.1").header("X-API-Key", &other)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn ten_keys_behind_one_address_have_a_hundred_each() {
    let server = TestServer::new(LimitConfig::default());
    for owner in 1..=10 {
        let key = server.key_of(Address::repeat_byte(owner)).await;
        for left in (0..100).rev() {
            let reply = server.send(stats("192.0.2.1").header("X-API-Key", &key)).await;
            assert_eq!((reply.status, reply.remaining()), (StatusCode::OK, left));
        }
    }
}

#[tokio::test]
async fn a_dear_request_is_charged_before_the_work_and_refused_with_its_cost() {
    let server = TestServer::new(LimitConfig::default());
    let trace = |address: &str| from(address, "/api/v1/transactions/0x00/calls");
    for left in [7, 4, 1] {
        let reply = server.send(trace("192.0.2.1")).await;
        assert_eq!((reply.remaining(), reply.header("x-ratelimit-cost")), (left, "3"));
    }
    let refused = server.send(trace("192.0.2.1")).await;
    assert_eq!((refused.status, refused.remaining()), (StatusCode::TOO_MANY_REQUESTS, 1));
    let expected = "this request costs 3, but 1 are left of the 10 in a minute of one IP address without a key";
    assert!(refused.body["detail"].as_str().unwrap().contains(expected), "{}", refused.body);
    // A plain one has enough left, and the refused one was not counted.
    let plain = server.send(stats("192.0.2.1")).await;
    assert_eq!((plain.status, plain.remaining(), plain.header("x-ratelimit-cost")), (StatusCode::OK, 0, "1"));
}

#[tokio::test]
async fn a_client_has_a_limit_over_all_its_keys() {
    let server = TestServer::new(LimitConfig { keyed_client: NonZeroU32::new(150), ..LimitConfig::default() });
    let keys = [server.key().await, server.key().await];
    let mut passed = 0;
    for number in 0..200 {
        let reply = server.send(stats("192.0.2.1").header("X-API-Key", &keys[number % 2])).await;
        passed += u32::from(reply.status == StatusCode::OK);
    }
    assert_eq!(passed, 150);
    let refused = server.send(stats("192.0.2.1").header("X-API-Key", &keys[0])).await;
    let detail = refused.body["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("the operator allows one IP address over all its keys"), "{detail}");
    // Requests that the client's limit rejected do not count for the key.
    let elsewhere = server.send(stats("192.0.2.2").header("X-API-Key", &keys[0])).await;
    assert_eq!((elsewhere.status, elsewhere.remaining()), (StatusCode::OK, 24));
}

#[tokio::test]
async fn a_key_with_a_higher_limit_than_the_client_raises_the_client_limit() {
    let server = TestServer::new(LimitConfig { keyed_client: NonZeroU32::new(20), ..LimitConfig::default() });
    let key = server.key().await;
    server.records.set_requests_per_minute(1, 30).await.unwrap();
    for _ in 0..30 {
        assert_eq!(server.send(stats("192.0.2.1").header("X-API-Key", &key)).await.status, StatusCode::OK);
    }
    let rejected = server.send(stats("192.0.2.1").header("X-API-Key", &key)).await;
    assert_eq!(rejected.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn an_invalid_key_is_401_and_counts_as_anonymous() {
    let server = TestServer::new(LimitConfig::default());
    let unknown = KeyText::generate();
    for (value, left) in [("expl_", 9), ("", 8), (unknown.reveal(), 7)] {
        let reply = server.send(stats("192.0.2.1").header("X-API-Key", value)).await;
        assert_eq!((reply.status, reply.remaining()), (StatusCode::UNAUTHORIZED, left));
        assert_eq!(reply.body["code"], "invalid_key");
        assert_eq!(reply.header("www-authenticate"), "ApiKey header=\"X-API-Key\"");
    }
    let key = server.key().await;
    let twice = server.send(stats("192.0.2.1").header("X-API-Key", &key).header("X-API-Key", &key)).await;
    assert_eq!(twice.status, StatusCode::UNAUTHORIZED);
    for _ in 0..6 {
        server.send(stats("192.0.2.1")).await;
    }
    let rejected = server.send(stats("192.0.2.1").header("X-API-Key", "wrong")).await;
    assert_eq!(rejected.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(server.send(stats("192.0.2.1").header("X-API-Key", &key)).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_revoked_key_is_rejected_with_its_own_code() {
    let server = TestServer::new(LimitConfig::default());
    let key = server.key().await;
    server.records.revoke_key(1).await.unwrap();
    let reply = server.send(stats("192.0.2.1").header("X-API-Key", &key)).await;
    assert_eq!((reply.status, &reply.body["code"]), (StatusCode::UNAUTHORIZED, &"revoked_key".into()));
}

#[tokio::test]
async fn errors_and_panics_have_rate_limit_headers() {
    let server = TestServer::new(LimitConfig::default());
    for (path, status, left) in [("/api/v1/nowhere", 404, 9), ("/api/v1/panic", 500, 8)] {
        let reply = server.send(from("192.0.2.1", path)).await;
        assert_eq!((reply.status.as_u16(), reply.remaining()), (status, left));
        assert_eq!(reply.body["status"], status);
    }
}

#[tokio::test]
async fn health_and_the_openapi_document_are_not_limited() {
    let server = TestServer::new(LimitConfig::default());
    for _ in 0..30 {
        assert!(!server.send(from("192.0.2.1", "/health")).await.headers.contains_key("x-ratelimit-limit"));
        assert_eq!(server.send(from("192.0.2.1", "/api/v1/openapi.json")).await.remaining(), 10);
    }
    assert_eq!(server.send(stats("192.0.2.1")).await.remaining(), 9);
}

#[tokio::test]
async fn x_forwarded_for_is_used_only_from_a_trusted_proxy() {
    let server = TestServer::new(LimitConfig::default());
    let through = |client: &str| stats("10.0.0.1").header("X-Forwarded-For", client.to_owned());
    assert_eq!(server.send(through("192.0.2.1")).await.remaining(), 9);
    assert_eq!(server.send(through("192.0.2.2")).await.remaining(), 9);
    assert_eq!(server.send(through("6.6.6.6, 192.0.2.1")).await.remaining(), 8);
    assert_eq!(server.send(stats("192.0.2.9").header("X-Forwarded-For", "192.0.2.1")).await.remaining(), 9);
}

#[tokio::test]
async fn without_limits_there_are_no_headers_and_no_rejections() {
    let server = TestServer::new(LimitConfig { anonymous: None, keyed_client: None });
    for _ in 0..50 {
        let reply = server.send(stats("192.0.2.1")).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert!(!reply.headers.contains_key("x-ratelimit-limit"));
    }
}

#[tokio::test]
async fn handlers_know_the_caller() {
    let server = TestServer::new(LimitConfig::default());
    let mine = |key: Option<&str>| {
        let request = from("192.0.2.1", "/api/v1/mine");
        key.map_or(Request::builder().uri("/api/v1/mine"), |key| request.header("X-API-Key", key.to_owned()))
    };
    let key = server.key().await;
    assert_eq!(server.send(mine(Some(&key))).await.status, StatusCode::OK);
    let without = server.send(mine(None)).await;
    assert_eq!((without.status, &without.body["code"]), (StatusCode::UNAUTHORIZED, &"key_required".into()));
    let other_owner = server.key_of(Address::repeat_byte(0xbb)).await;
    assert_eq!(server.send(mine(Some(&other_owner))).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn key_uses_are_persisted_in_one_write() {
    let server = TestServer::new(LimitConfig::default());
    let key = server.key().await;
    for _ in 0..7 {
        server.send(stats("192.0.2.1").header("X-API-Key", &key)).await;
    }
    assert_eq!(server.records.find_key(1).await.unwrap().unwrap().total_requests, 0);
    let limits = Arc::new(RateLimits::new(LimitConfig::default()));
    let uses = KeyUses { keys: Arc::clone(&server.keys), limits };
    uses.finish().await;
    uses.finish().await;
    let stored = server.records.find_key(1).await.unwrap().unwrap();
    assert_eq!(stored.total_requests, 7);
    assert!(stored.last_used_at >= unix_time::millis() - 60_000);
}

/// CPU time of this thread, in nanoseconds; all time, where the system does not count it.
fn cpu_time() -> u64 {
    static STARTED: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let counted = stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).filter(|nanos| *nanos > 0);
    counted.unwrap_or_else(|| u64::try_from(STARTED.elapsed().as_nanos()).unwrap())
}

/// The cost of admission on top of the bare handler. `docs/benchmarks.md` has the figures of an idle machine.
#[tokio::test]
async fn key_check_limiter_and_headers_cost_less_than_ten_microseconds() {
    let server = TestServer::new(LimitConfig { keyed_client: NonZeroU32::new(1_000_000), ..LimitConfig::default() });
    let key = server.key().await;
    server.records.set_requests_per_minute(1, 1_000_000).await.unwrap();
    let bare = Router::new().route("/api/v1/stats", get(async || JsonResponse::new([1], Freshness::UntilNextBlock)));
    let admission = Admission {
        keys: Arc::clone(&server.keys),
        limits: Arc::new(RateLimits::new(LimitConfig {
            anonymous: NonZeroU32::new(1_000_000),
            keyed_client: NonZeroU32::MAX.into(),
        })),
        page_budget: Arc::new(PageBudget::new(None, TrustedProxies::default())),
        proxies: TrustedProxies::default(),
        metrics: Arc::default(),
    };
    let check = async |State(admission): State<Arc<Admission>>, mut request: Request, next: Next| {
        let Checked { rejection, limits } = admission.check(&mut request, None).await;
        let mut response = match rejection {
            Some(error) => error.into_response(),
            None => next.run(request).await,
        };
        if let Some(limits) = limits {
            limits.write_headers(response.headers_mut(), unix_time::now());
        }
        response
    };
    let checked = bare.clone().layer(axum::middleware::from_fn_with_state(Arc::new(admission), check));

    async fn cost(router: &Router, key: Option<&str>) -> u64 {
        const REQUESTS: u64 = 5_000;
        let started = cpu_time();
        for _ in 0..REQUESTS {
            let mut request = stats("192.0.2.1");
            if let Some(key) = key {
                request = request.header("X-API-Key", key);
            }
            let reply = router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(reply.status(), StatusCode::OK);
        }
        (cpu_time() - started) / REQUESTS
    }
    let (mut nothing, mut anonymous, mut with_key) = (u64::MAX, u64::MAX, u64::MAX);
    for _ in 0..8 {
        nothing = nothing.min(cost(&bare, Some(&key)).await);
        anonymous = anonymous.min(cost(&checked, None).await);
        with_key = with_key.min(cost(&checked, Some(&key)).await);
    }
    assert!(nothing > 0, "no time was measured");
    let over = |cost: u64| cost.saturating_sub(nothing);
    let figures = format!("bare {nothing} ns; anonymous +{} ns; with a key +{} ns", over(anonymous), over(with_key));
    // Shown with --nocapture.
    tracing::info!("{figures}");
    std::io::Write::write_all(&mut std::io::stderr(), format!("request overhead: {figures}\n").as_bytes()).unwrap();
    assert!(over(anonymous) < 10_000 && over(with_key) < 10_000, "{figures}");
}
