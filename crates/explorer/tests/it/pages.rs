//! The pages over HTTP and in a real browser.

mod base_path;
mod block_header;
mod branding;
mod call_tree;
mod decoded;
mod hostile_names;
mod imitations;
mod labels;
mod lists;
mod live;
mod odd_tokens;
mod search_engines;
mod summaries;
mod texts;
mod transactions;

use serde_json::Value;

use crate::support::{
    DevNode, Fixture, Launch, TestExplorer,
    client::{Client, http_client},
    process::{Process, Signal},
    wallet_clients::run_client,
};

/// A publicly known development key.
const PRIVATE_KEY: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";

async fn demo_with_traffic() -> (Process, String) {
    let mut demo = Launch::demo(1_500).argument("--anonymous-requests-per-minute", 100_000).spawn();
    let url = demo.printed("Open   ").await;
    (demo, url.trim_end_matches('/').to_owned())
}

#[tokio::test]
async fn the_pages_work_in_a_real_browser() {
    let (mut demo, base) = demo_with_traffic().await;
    let passed = run_client("browse.mjs", &[&base, PRIVATE_KEY]).await;
    assert!(passed.as_array().is_some_and(|scenarios| scenarios.len() >= 19), "{passed}");
    demo.stop(Signal::Interrupt).await;
}

#[tokio::test]
async fn every_page_is_html_with_a_policy_against_foreign_scripts() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let pages = [
        "/".to_owned(),
        "/blocks".to_owned(),
        "/block/1".to_owned(),
        "/transactions".to_owned(),
        format!("/tx/{}", fixture.call),
        format!("/address/{}", fixture.alice),
        format!("/address/{}?tab=transfers", fixture.alice),
        "/tokens".to_owned(),
        "/trades".to_owned(),
        "/keys".to_owned(),
        "/webhooks".to_owned(),
        "/search?q=%3Cscript%3E".to_owned(),
    ];
    for path in pages {
        let answer = client.get(&path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").starts_with("text/html"), "{path}");
        let policy = answer.header("content-security-policy");
        assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{path}: {policy}");
        assert!(!answer.text.contains("<script>"), "{path}");
        // Pages do not count against the API limit.
        assert_eq!(answer.header("x-ratelimit-remaining"), "", "{path}");
    }
}

#[tokio::test]
async fn a_missing_page_links_to_others() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let unknown = format!("/tx/0x{}", "ab".repeat(32));
    for path in ["/nothing", "/block/99999999", "/block/x", &unknown, "/address/0x12", "/token/0x12"] {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.text.contains("<h1>") && answer.text.contains("name=\"q\""), "{path}");
    }
}

#[tokio::test]
async fn url_paths_of_other_explorers_redirect() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    for (path, target) in [
        ("/txs", "/transactions".to_owned()),
        ("/blocks/7", "/block/7".to_owned()),
        ("/addresses/0xab//evil", String::new()),
    ] {
        let answer = client.get_without_following(path).await;
        match target.as_str() {
            "" => assert_eq!(answer.status, 404, "{path}"),
            target => assert_eq!((answer.status, answer.header("location")), (308, target), "{path}"),
        }
    }
}

#[tokio::test]
async fn the_stream_sends_each_new_block() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    node.wait_for(&explorer).await;
    let mut events = explorer.client().events("/api/v1/stream").await;
    for number in 0..3_u64 {
        let event = events.next_named("block").await;
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        let block: Value = serde_json::from_str(data).unwrap();
        let head = node.chain.head();
        assert_eq!((&block["number"], &block["hash"]), (&number.into(), &head.hash.to_string().into()), "{block}");
        node.chain.mine(None);
    }
}

#[tokio::test]
async fn assets_have_content_hashes_in_their_names_and_are_cached_forever() {
    let fixture = Fixture::shared().await;
    let client: &Client = fixture.explorer.client();
    let home = client.get("/").await.text;
    let assets: Vec<&str> = home.split('"').filter(|part| part.starts_with("/assets/")).collect();
    assert!(assets.len() >= 3, "{assets:?}");
    for asset in assets {
        let answer = client.get(asset).await;
        assert_eq!(answer.status, 200, "{asset}");
        assert!(answer.header("cache-control").contains("immutable"), "{asset}");
    }
}

/// What a layer compresses for each request is a stream, whose length is not known before.
#[tokio::test]
async fn assets_are_compressed_once_for_clients_that_accept_it() {
    let fixture = Fixture::shared().await;
    let decoding: &Client = fixture.explorer.client();
    let raw = Client::with_settings(decoding.url(""), http_client().no_gzip());
    let home = decoding.get("/").await.text;
    let docs = decoding.get("/docs").await.text;
    let linked = [home.as_str(), &docs].into_iter().flat_map(|page| page.split('"'));
    let mut paths: Vec<&str> = linked.filter(|part| part.starts_with("/assets/")).collect();
    assert!(paths.len() >= 5, "{paths:?}");
    paths.extend(["/favicon.svg", "/favicon.ico"]);
    for path in paths {
        let plain = raw.get(path).await;
        assert_eq!((plain.status, plain.header("content-encoding")), (200, ""), "{path}");
        assert_eq!(decoding.get(path).await.text, plain.text, "{path}");
        for (accepted, expected) in [
            ("gzip", "gzip"),
            ("gzip, deflate, br, zstd", "gzip"),
            ("br", ""),
            ("identity", ""),
            ("gzip;q=0, *", ""),
            ("identity, gzip;q=0.5", ""),
        ] {
            let answer = raw.send(raw.request("GET", path).header("Accept-Encoding", accepted)).await;
            assert_eq!((answer.status, answer.header("content-encoding")), (200, expected), "{path}: {accepted}");
            for name in ["content-type", "cache-control", "vary", "content-security-policy", "x-content-type-options"] {
                assert_eq!(answer.header(name), plain.header(name), "{path}: {accepted}: {name}");
            }
            assert_eq!(answer.header("vary"), "accept-encoding", "{path}: {accepted}");
            let length: usize = answer.header("content-length").parse().unwrap();
            let is_smaller = length < plain.text.len();
            assert_eq!(is_smaller, expected == "gzip", "{path}: {accepted}: {length} of {} bytes", plain.text.len());
        }
    }
}
