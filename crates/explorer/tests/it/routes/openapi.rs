use crate::support::Fixture;

#[tokio::test]
async fn the_openapi_document_lists_every_route() {
    let fixture = Fixture::shared().await;
    let document = fixture.explorer.json("/api/v1/openapi.json").await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    for path in [
        "/api/v1/stats",
        "/api/v1/blocks",
        "/api/v1/blocks/{numberOrHash}",
        "/api/v1/transactions",
        "/api/v1/transactions/{hash}",
        "/api/v1/addresses/{address}",
        "/api/v1/openapi.json",
        "/health",
    ] {
        assert!(document["paths"][path]["get"].is_object(), "{path} is not in the document");
    }
}
