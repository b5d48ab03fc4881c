//! A request can be followed from the client into the log.

use crate::support::{DevNode, Launch};

#[tokio::test]
async fn a_request_id_is_in_the_response_and_in_the_log() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--log", "debug").start().await;
    let client = explorer.client();
    let given = client.send(client.request("GET", "/api/v1/stats").header("X-Request-Id", "order-66.a:b_c")).await;
    assert_eq!(given.header("x-request-id"), "order-66.a:b_c");
    let made = client.get("/api/v1/nowhere").await.header("x-request-id").to_owned();
    assert_eq!(made.len(), 32);
    for id in ["order-66.a:b_c", &made] {
        explorer.wait_for_log(id).await;
    }
    let forged = client.request("GET", "/api/v1/stats").header("X-Request-Id", "a forged=\"line\"");
    assert_ne!(client.send(forged).await.header("x-request-id"), "a forged=\"line\"");
    assert!(!explorer.log().contains("forged"));
}
