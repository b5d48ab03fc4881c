//! Documents that are not counted against the limit of the API.

use super::{Scene, with_default_limits};
use crate::support::{
    DevNode,
    client::{Client, http_client},
};

#[tokio::test]
async fn the_document_is_compressed_once_however_it_is_asked_for() {
    let node = DevNode::start().await;
    let explorer = with_default_limits(&node.url()).start().await;
    // It shows bodies as they were sent.
    let plain = http_client().no_gzip();
    let client = Client::with_settings(format!("http://{}", explorer.client().host()), plain);
    for path in ["/api/v1/openapi.json"] {
        for (accepted, expected) in [
            ("gzip", "gzip"),
            ("gzip;q=0.5, identity", ""),
            ("x-gzip", ""),
            ("identity;q=0.5, gzip;q=0.4", ""),
            ("*;q=0.1, identity", ""),
        ] {
            let request = client.request("GET", path).header("Accept-Encoding", accepted);
            let answer = client.send(request).await;
            assert_eq!((answer.status, answer.header("content-encoding")), (200, expected), "{path}: {accepted}");
        }
    }
}

#[tokio::test]
async fn documents_count_as_pages_and_leave_the_limit_of_the_api_alone() {
    let scene = Scene::with(50).await;
    let client = scene.client(1);
    let mut served = 0;
    let refused = loop {
        let answer = client.get("/api/v1/openapi.json").await;
        if answer.status != 200 {
            break answer;
        }
        served += 1;
        assert!(served < 2_000, "they are without end");
    };
    assert!(served >= 250, "a person never gets here: {served}");
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(!refused.header("retry-after").is_empty());
    let stats = client.get("/api/v1/stats").await;
    assert_eq!((stats.status, stats.header("x-ratelimit-remaining")), (200, "9"));
    assert_eq!(scene.client(2).get("/api/v1/openapi.json").await.status, 200, "another client is not affected");
}
