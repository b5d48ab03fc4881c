//! Rate limits end to end.

use crate::support::{DevNode, Launch, TestExplorer, client::Answer, key_request::KeyRequest};

async fn limited(node: &DevNode) -> TestExplorer {
    Launch::run(&node.url())
        .variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 10)
        .argument("--trusted-proxy", "127.0.0.0/8")
        .start()
        .await
}

async fn get_from(explorer: &TestExplorer, path: &str, from: &str, key: Option<&str>) -> Answer {
    let client = explorer.client();
    let mut request = client.request("GET", path).header("X-Forwarded-For", from);
    if let Some(key) = key {
        request = request.header("X-API-Key", key);
    }
    client.send(request).await
}

#[tokio::test]
async fn the_11th_anonymous_request_gets_429_and_another_ip_does_not() {
    let node = DevNode::start().await;
    let explorer = limited(&node).await;
    for left in (0..10).rev() {
        let answer = get_from(&explorer, "/api/v1/stats", "192.0.2.1", None).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, &*left.to_string()));
    }
    // For every route.
    for path in ["/api/v1/stats", "/api/v1/blocks?page=x", "/api/v1/nowhere"] {
        let refused = get_from(&explorer, path, "192.0.2.1", None).await;
        assert_eq!((refused.status, refused.json["code"].as_str()), (429, Some("rate_limited")));
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert!((50..=61).contains(&wait), "{wait}");
        assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    }
    for path in ["/health", "/docs", "/api/v1/openapi.json"] {
        assert_eq!(get_from(&explorer, path, "192.0.2.1", None).await.status, 200, "{path} is free");
    }
    let other = get_from(&explorer, "/api/v1/stats", "192.0.2.2", None).await;
    assert_eq!((other.status, other.header("x-ratelimit-remaining")), (200, "9"));
}

#[tokio::test]
async fn the_101st_request_with_a_key_gets_429() {
    let node = DevNode::start().await;
    let explorer = limited(&node).await;
    let key = KeyRequest::by(&node.chain.accounts()[0]).key(explorer.client()).await;
    for left in (0..100).rev() {
        let answer = get_from(&explorer, "/api/v1/stats", "192.0.2.1", Some(&key)).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, &*left.to_string()));
    }
    let refused = get_from(&explorer, "/api/v1/stats", "192.0.2.1", Some(&key)).await;
    assert_eq!((refused.status, refused.json["code"].as_str()), (429, Some("rate_limited")));
    assert!(!refused.header("retry-after").is_empty());
    // Without the key, the limit of the IP address applies.
    assert_eq!(get_from(&explorer, "/api/v1/stats", "192.0.2.1", None).await.header("x-ratelimit-remaining"), "9");
}

#[tokio::test]
async fn each_of_seven_keys_behind_one_address_has_its_hundred() {
    let node = DevNode::start().await;
    let explorer = limited(&node).await;
    let mut keys = Vec::new();
    for account in node.chain.accounts().iter().take(7) {
        keys.push(KeyRequest::by(account).key(explorer.client()).await);
    }
    assert_eq!(keys.len(), 7);
    for key in &keys {
        for _ in 0..99 {
            let answer = get_from(&explorer, "/api/v1/stats", "192.0.2.1", Some(key)).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
    }
    for key in &keys {
        let last = get_from(&explorer, "/api/v1/stats", "192.0.2.1", Some(key)).await;
        assert_eq!((last.status, last.header("x-ratelimit-remaining")), (200, "0"));
        assert_eq!(get_from(&explorer, "/api/v1/stats", "192.0.2.1", Some(key)).await.status, 429);
    }
}

#[tokio::test]
async fn a_limit_of_the_operator_over_all_keys_of_an_address_is_named() {
    let node = DevNode::start().await;
    let launch = Launch::run(&node.url()).argument("--trusted-proxy", "127.0.0.0/8");
    let explorer = launch.argument("--keyed-requests-per-minute", 100).start().await;
    let mut keys = Vec::new();
    for account in node.chain.accounts().iter().take(2) {
        keys.push(KeyRequest::by(account).key(explorer.client()).await);
    }
    for number in 0..100 {
        let answer = get_from(&explorer, "/api/v1/stats", "192.0.2.1", Some(&keys[number % 2])).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let refused = get_from(&explorer, "/api/v1/stats", "192.0.2.1", Some(&keys[0])).await;
    let text = "0 are left of the 100 in a minute that the operator allows one IP address over all its keys";
    assert_eq!(refused.status, 429);
    assert!(refused.json["detail"].as_str().unwrap().contains(text), "{}", refused.text);
    assert_eq!(get_from(&explorer, "/api/v1/stats", "192.0.2.2", Some(&keys[0])).await.status, 200);
}

#[tokio::test]
async fn every_response_has_rate_limit_headers_even_errors() {
    let node = DevNode::start().await;
    let launch = Launch::run(&node.url()).argument("--owner-access", "guarded");
    let explorer = launch.variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 40).start().await;
    let client = explorer.client();
    let json =
        |path: &str, body: String| client.request("POST", path).header("Content-Type", "application/json").body(body);
    let get = |path: &str| client.request("GET", path);
    let long = format!("/api/v1/stats?{}", "a".repeat(9_000));
    let requests = [
        (200, get("/api/v1/stats")),
        (200, client.request("HEAD", "/api/v1/stats")),
        (304, get("/api/v1/blocks").header("If-None-Match", "*")),
        (400, get("/api/v1/blocks?page=0")),
        (400, json("/api/v1/query", "{".to_owned())),
        (401, get("/api/v1/stats").header("X-API-Key", "wrong")),
        (401, get(&format!("/api/v1/keys?owner=0x{}", "1".repeat(40)))),
        (404, get("/api/v1/nowhere")),
        (404, get(&format!("/api/v1/transactions/0x{}", "1".repeat(64)))),
        (405, client.request("PUT", "/api/v1/stats")),
        (413, json("/api/v1/query", "x".repeat(70_000))),
        (414, get(&long)),
        (415, client.request("POST", "/api/v1/query").body("{}")),
    ];
    let mut left = 40;
    for (status, request) in requests {
        let answer = client.send(request).await;
        left -= 1;
        assert_eq!(answer.status, status, "{}", answer.json);
        assert_eq!(answer.header("x-ratelimit-limit"), "40", "{status}");
        assert_eq!(answer.header("x-ratelimit-remaining"), left.to_string(), "{status}");
        assert!(answer.header("x-ratelimit-reset").parse::<u64>().unwrap() > 1_700_000_000, "{status}");
        assert!(answer.header("ratelimit").starts_with(&format!("\"anonymous\";r={left};t=")), "{status}");
        assert_eq!(answer.header("ratelimit-policy"), "\"anonymous\";q=40;w=60", "{status}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{status}");
        assert!(!answer.header("x-request-id").is_empty(), "{status}");
        if status >= 400 && status != 405 {
            assert_eq!(answer.header("cache-control"), "no-store", "{status}");
        }
    }
}

#[tokio::test]
async fn without_a_database_limits_start_over_with_the_process() {
    let node = DevNode::start().await;
    let launch = || Launch::run(&node.url()).variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 2);
    let explorer = launch().start().await;
    for status in [200, 200, 429] {
        assert_eq!(explorer.get("/api/v1/stats").await.status, status);
    }
    let (_, data) = explorer.stop().await;
    let explorer = launch().on(&data).start().await;
    let first = explorer.get("/api/v1/stats").await;
    assert_eq!((first.status, first.header("x-ratelimit-remaining")), (200, "1"));
    let second = explorer.get("/api/v1/stats").await;
    assert_eq!((second.status, second.header("x-ratelimit-remaining")), (200, "0"));
    assert_eq!(explorer.get("/api/v1/stats").await.status, 429);
}

#[tokio::test]
async fn the_reference_and_its_document_count_as_pages_and_assets_do_not() {
    let node = DevNode::start().await;
    let launch = Launch::run(&node.url()).argument("--pages-per-minute", 1);
    let explorer = launch.argument("--trusted-proxy", "127.0.0.0/8").start().await;
    for (path, from) in [("/docs", "192.0.2.1"), ("/api/v1/openapi.json", "192.0.2.2")] {
        let first = get_from(&explorer, path, from, None).await;
        assert_eq!(first.status, 200, "{path}");
        let second = get_from(&explorer, path, from, None).await;
        assert_eq!(second.status, 429, "{path}");
        assert!(second.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0), "{path}");
        for _ in 0..3 {
            assert_eq!(get_from(&explorer, "/favicon.svg", from, None).await.status, 200, "{path}");
        }
    }
}
