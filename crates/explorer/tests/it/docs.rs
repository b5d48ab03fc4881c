//! The API reference page and its OpenAPI document.

use crate::support::{
    DevNode, Fixture, Launch, TestExplorer,
    client::{Client, http_client},
    process::Signal,
};

#[tokio::test]
async fn the_reference_page_and_its_assets_come_from_the_binary() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let client = explorer.client();
    let page = client.get("/docs").await;
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text.contains("<script>") && !page.text.contains("style=\""), "{}", page.text);
    let assets = page.text.split('"').filter(|part| part.starts_with("/assets/docs-"));
    let mut kinds = Vec::new();
    for path in assets {
        let asset = client.get(path).await;
        assert_eq!((asset.status, asset.header("x-content-type-options")), (200, "nosniff"), "{path}");
        for elsewhere in ["http://", "https://", "src=\"//", "@import"] {
            assert!(!asset.text.contains(elsewhere), "{path} speaks of {elsewhere}");
        }
        kinds.push(asset.header("content-type").to_owned());
    }
    assert_eq!(kinds, ["text/css; charset=utf-8", "text/javascript; charset=utf-8"]);
}

#[tokio::test]
async fn every_path_of_the_openapi_document_is_served() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let document = explorer.json("/api/v1/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    // A stream never ends, so its response cannot be awaited.
    let paths = document["paths"].as_object().unwrap().keys().filter(|path| *path != "/api/v1/stream");
    for path in paths {
        let real = path.replace("{numberOrHash}", "0").replace(['{', '}'], "");
        let answer = explorer.get(&real).await;
        assert_ne!(answer.json["code"], "route_not_found", "{path}");
    }
}

#[tokio::test]
async fn the_openapi_document_is_compressed_if_the_client_accepts_it() {
    const PATH: &str = "/api/v1/openapi.json";
    let fixture = Fixture::shared().await;
    let client = Client::with_settings(fixture.explorer.client().url(""), http_client().no_gzip());
    let plain = client.get(PATH).await;
    assert_eq!((plain.status, plain.header("content-encoding")), (200, ""));
    let compressed = client.request("GET", PATH).header("Accept-Encoding", "gzip, br").send().await.unwrap();
    let headers = compressed.headers().clone();
    assert_eq!(headers["content-encoding"], "gzip");
    assert_eq!(headers["etag"], plain.header("etag"));
    let length = compressed.bytes().await.unwrap().len();
    assert!(length * 5 < plain.text.len(), "{length} of {} bytes", plain.text.len());
    let again = client.request("GET", PATH).header("If-None-Match", plain.header("etag"));
    assert_eq!(client.send(again.header("Accept-Encoding", "gzip")).await.status, 304);
}

#[tokio::test]
async fn the_demo_prints_a_key_that_works() {
    let mut process = Launch::demo(40).spawn();
    let curl = process.printed("curl -H 'X-API-Key: ").await;
    let (key, url) = curl.split_once("' ").unwrap();
    let client = Client::new("");
    let answer = client.send(client.request("GET", url).header("X-API-Key", key)).await;
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, "100"), "{curl}");
    process.stop(Signal::Interrupt).await;
}
