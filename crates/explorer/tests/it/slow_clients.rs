//! Slow clients are cut off.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::support::{DevNode, Stopwatch, TestExplorer};

/// Sends the beginning of a request and returns the response until the connection is closed or idle.
async fn send_partial(explorer: &TestExplorer, beginning: &str) -> (String, Duration) {
    let mut stream = TcpStream::connect(explorer.client().host()).await.unwrap();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    let watch = Stopwatch::start();
    let mut answer = vec![0; 8_192];
    let length = timeout(Duration::from_secs(120), stream.read(&mut answer)).await.expect("never cut off").unwrap_or(0);
    (String::from_utf8_lossy(&answer[..length]).into_owned(), watch.elapsed())
}

#[tokio::test]
async fn slow_request_headers_and_bodies_are_cut_off() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let head = "GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-Slow: ";
    let body =
        "POST /api/v1/keys HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let ((head_answer, head_took), (body_answer, body_took)) =
        tokio::join!(send_partial(&explorer, head), send_partial(&explorer, body));
    assert!(!head_answer.contains("200 OK"), "{head_answer}");
    assert!(head_took < Duration::from_secs(30), "{head_took:?}");
    assert!(body_answer.starts_with("HTTP/1.1 408") && body_answer.contains("body_too_slow"), "{body_answer}");
    assert!(body_took < Duration::from_secs(25), "{body_took:?}");
}

#[tokio::test]
async fn a_body_that_is_too_long_is_rejected_before_it_is_read() {
    let node = DevNode::start().await;
    let explorer = TestExplorer::start(&node.url()).await;
    let head =
        "POST /api/v1/keys HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 65537\r\n\r\n{";
    let (answer, took) = send_partial(&explorer, head).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
    assert!(took < Duration::from_secs(5), "{took:?}");
}
