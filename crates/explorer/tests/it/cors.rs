//! Which websites' pages may read the API in a browser.

use crate::support::{DevNode, Launch, TestExplorer, client::Answer};

const WALLET: &str = "https://wallet.example";
const OTHER: &str = "https://other.example";

/// Of the API, with an error of the client's and an unknown route, and of the formats of Etherscan and Sourcify.
const PATHS: [&str; 6] = [
    "/api/v1/stats",
    "/api/v1/blocks/nonsense",
    "/api/v1/nowhere",
    "/api?module=stats&action=ethprice",
    "/v2/api?chainid=1&module=nonsense&action=nonsense",
    "/sourcify/v2/contract/1/nonsense",
];

async fn start(cors: Option<&str>) -> (DevNode, TestExplorer) {
    let node = DevNode::start().await;
    let launch = Launch::run(&node.url());
    let launch = match cors {
        Some(cors) => launch.argument("--cors", cors),
        None => launch,
    };
    let explorer = launch.start().await;
    node.wait_for(&explorer).await;
    (node, explorer)
}

async fn plain(explorer: &TestExplorer, path: &str, origin: &str) -> Answer {
    let client = explorer.client();
    client.send(client.request("GET", path).header("Origin", origin)).await
}

async fn preflight(explorer: &TestExplorer, path: &str, origin: &str) -> Answer {
    let client = explorer.client();
    let request = client.request("OPTIONS", path).header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "POST");
    client.send(request.header("Access-Control-Request-Headers", "content-type,x-api-key")).await
}

/// Names of the headers that say what pages of other origins may do.
fn permissions(answer: &Answer) -> Vec<&str> {
    answer.headers.keys().map(|name| name.as_str()).filter(|name| name.starts_with("access-control-")).collect()
}

fn varies_by_origin(answer: &Answer) -> bool {
    let vary = answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap());
    vary.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("origin"))
}

#[tokio::test]
async fn by_default_pages_of_any_website_read_the_api() {
    for cors in [None, Some("any")] {
        let (_node, explorer) = start(cors).await;
        for path in PATHS {
            let read = plain(&explorer, path, WALLET).await;
            assert_eq!(read.header("access-control-allow-origin"), "*", "{path}");
            assert!(read.header("access-control-expose-headers").contains("x-ratelimit-remaining"), "{path}");
            let asked = preflight(&explorer, path, WALLET).await;
            assert_eq!((asked.status, asked.header("access-control-allow-origin")), (200, "*"), "{path}");
            assert!(asked.header("access-control-allow-methods").contains("POST"), "{path}");
            assert!(!varies_by_origin(&read) && !varies_by_origin(&asked), "{path}: every origin gets the same");
        }
        let invalid = plain(&explorer, "/api/v1/blocks/nonsense", WALLET).await;
        assert_eq!(invalid.status, 400, "{}", invalid.text);
    }
}

#[tokio::test]
async fn with_cors_off_no_response_permits_anything() {
    let (_node, explorer) = start(Some("off")).await;
    for path in PATHS {
        for origin in [WALLET, "null", explorer.client().url("").as_str()] {
            let read = plain(&explorer, path, origin).await;
            assert!(permissions(&read).is_empty(), "{path}: {:?}", read.headers);
            let asked = preflight(&explorer, path, origin).await;
            assert!(permissions(&asked).is_empty(), "{path}: {:?}", asked.headers);
        }
    }
    // Programs that are no browsers read as before.
    explorer.json("/api/v1/stats").await;
    assert_eq!(preflight(&explorer, "/api/v1/stats", WALLET).await.status, 405);
}

#[tokio::test]
async fn only_pages_of_listed_websites_read_the_api() {
    let (_node, explorer) = start(Some("https://wallet.example,http://localhost:5173")).await;
    for path in PATHS {
        for origin in [WALLET, "http://localhost:5173"] {
            let read = plain(&explorer, path, origin).await;
            assert_eq!(read.header("access-control-allow-origin"), origin, "{path}");
            assert!(read.header("access-control-expose-headers").contains("x-request-id"), "{path}");
            let asked = preflight(&explorer, path, origin).await;
            assert_eq!((asked.status, asked.header("access-control-allow-origin")), (200, origin), "{path}");
            assert_eq!(asked.header("access-control-allow-headers"), "*", "{path}");
            assert!(varies_by_origin(&read) && varies_by_origin(&asked), "{path}: caches must keep them apart");
        }
        for origin in
            [OTHER, "null", "https://wallet.example.other.example", "http://wallet.example", "http://localhost"]
        {
            for answer in [plain(&explorer, path, origin).await, preflight(&explorer, path, origin).await] {
                assert!(!answer.headers.contains_key("access-control-allow-origin"), "{path} {origin}");
                assert!(varies_by_origin(&answer), "{path} {origin}");
            }
        }
    }
    let first = plain(&explorer, "/api/v1/openapi.json", OTHER).await;
    let client = explorer.client();
    let again = client.request("GET", "/api/v1/openapi.json").header("Origin", WALLET);
    let again = client.send(again.header("If-None-Match", first.header("etag"))).await;
    assert_eq!((again.status, again.header("access-control-allow-origin")), (304, WALLET));
}

#[tokio::test]
async fn a_value_that_is_no_origin_is_refused_at_the_start() {
    for (given, reason) in [
        ("*", "`*` is not an origin"),
        ("wallet.example", "`wallet.example` is not an origin"),
        ("https://*.example", "`https://*.example` is not an origin"),
        ("any,https://wallet.example", "`any` is not an origin"),
        ("https://wallet.example/", "browsers send `https://wallet.example`"),
    ] {
        let (status, message) = Launch::run("http://127.0.0.1:1").argument("--cors", given).fails_to_start().await;
        assert!(!status.success() && message.contains("--cors") && message.contains(reason), "{given}: {message}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, "cors = ['https://wallet.example', 'null']\n").unwrap();
    let launch = Launch::run("http://127.0.0.1:1").argument("--config", file.display());
    let (status, message) = launch.fails_to_start().await;
    assert!(!status.success() && message.contains("`null` is not an origin"), "{message}");
}
