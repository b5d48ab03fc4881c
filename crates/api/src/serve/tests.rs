use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, extract::ConnectInfo, routing::get};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{ConnectionLimits, GRACE, MAX_HEAD_BYTES, serve};
use crate::{
    json_response::{Freshness, JsonResponse},
    layers,
};

struct Server {
    address: std::net::SocketAddr,
    slow: SlowHandler,
    cancel: CancellationToken,
    ended: JoinHandle<std::io::Result<()>>,
}

impl Server {
    async fn start() -> Self {
        let slow = SlowHandler::default();
        Self { slow: slow.clone(), ..Self::start_with(trivial_router(slow)).await }
    }

    async fn start_with(router: Router) -> Self {
        Self::start_limited(router, ConnectionLimits::default()).await
    }

    async fn start_limited(router: Router, limits: ConnectionLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cancel = CancellationToken::new();
        let ended = tokio::spawn(serve(listener, router, limits, cancel.clone()));
        Self { address, slow: SlowHandler::default(), cancel, ended }
    }

    async fn send(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }
}

/// A handler that responds when the test says so.
#[derive(Debug, Clone, Default)]
struct SlowHandler {
    called: Arc<Notify>,
    finish: Arc<Notify>,
}

fn trivial_router(slow: SlowHandler) -> Router {
    let wait = move || {
        let slow = slow.clone();
        async move {
            slow.called.notify_one();
            slow.finish.notified().await;
        }
    };
    Router::new()
        .route("/peer", get(async |ConnectInfo(peer): ConnectInfo<std::net::SocketAddr>| peer.ip().to_string()))
        .route("/slow", get(wait))
}

async fn read_to_end(mut stream: TcpStream) -> String {
    let mut response = Vec::new();
    // A closed connection may end with a reset: only the data before it matters.
    let _ =
        timeout(Duration::from_secs(60), stream.read_to_end(&mut response)).await.expect("the connection stays open");
    String::from_utf8(response).unwrap()
}

#[tokio::test]
async fn handlers_get_the_address_of_the_peer() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /peer HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let response = read_to_end(stream).await;
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    assert!(response.ends_with("127.0.0.1"), "{response}");
}

#[tokio::test]
async fn a_request_in_flight_is_answered_before_the_service_stops() {
    let server = Server::start().await;
    let stream = server.send("/slow").await;
    server.slow.called.notified().await;
    // The clock stands still, so that a busy machine does not use up the grace period.
    tokio::time::pause();
    server.cancel.cancel();
    tokio::time::advance(GRACE / 4).await;
    server.slow.finish.notify_one();
    assert!(read_to_end(stream).await.starts_with("HTTP/1.1 200"));
    server.ended.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_that_does_not_end_delays_the_shutdown_only_briefly() {
    let server = Server::start().await;
    let stream = server.send("/slow").await;
    server.slow.called.notified().await;
    // From here on nothing but timers is waited for, and the paused clock jumps to the next one.
    tokio::time::pause();
    let started = Instant::now();
    server.cancel.cancel();
    server.ended.await.unwrap().unwrap();
    let took = started.elapsed();
    assert!((GRACE..2 * GRACE).contains(&took), "{took:?}");
    assert_eq!(read_to_end(stream).await, "");
}

#[tokio::test]
async fn idle_connections_do_not_delay_the_shutdown() {
    let server = Server::start().await;
    let mut stream = server.send("/peer").await;
    let mut byte = [0; 1];
    stream.read_exact(&mut byte).await.unwrap();
    tokio::time::pause();
    let started = Instant::now();
    server.cancel.cancel();
    server.ended.await.unwrap().unwrap();
    assert!(started.elapsed() < GRACE);
}

#[tokio::test]
async fn a_stopped_service_accepts_no_connections() {
    let server = Server::start().await;
    server.cancel.cancel();
    server.ended.await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn a_304_has_no_content_length() {
    let router = Router::new().route("/", get(async || JsonResponse::new([1; 32], Freshness::UntilNextBlock)));
    let server = Server::start_with(layers::tests::wrap(router)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "GET / HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: *\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let response = read_to_end(stream).await;
    assert!(response.starts_with("HTTP/1.1 304"), "{response}");
    assert!(response.ends_with("\r\n\r\n"), "{response}");
    assert!(!response.contains("content-length"), "{response}");
    assert!(!response.contains("transfer-encoding"), "{response}");
}

fn explode() -> JsonResponse<u8> {
    panic!("boom in a handler")
}

/// Collects log lines.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures the log of this thread.
    fn capture(&self) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        tracing::subscriber::set_default(subscriber.finish())
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_panic_is_answered_and_logged_and_the_connection_stays_open() {
    let log = Log::default();
    let _capturing = log.capture();
    let router = Router::new()
        .route("/panic", get(async || explode()))
        .route("/ok", get(async || JsonResponse::new([1; 32], Freshness::UntilNextBlock)));
    let server = Server::start_with(layers::tests::wrap(router)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for _ in 0..3 {
        // All on one connection.
        let head = "GET /panic HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: trace-1\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
    }
    stream.write_all(b"GET /ok HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await.unwrap();
    let responses = read_to_end(stream).await;
    assert_eq!(responses.matches("HTTP/1.1 500").count(), 3, "{responses}");
    assert_eq!(responses.matches("\"code\":\"internal_error\"").count(), 3, "{responses}");
    assert_eq!(responses.matches("HTTP/1.1 200").count(), 1, "{responses}");
    assert!(!responses.contains("boom"), "{responses}");
    let log = log.text();
    let logged = log.lines().filter(|line| {
        line.contains("ERROR")
            && line.contains("trace-1")
            && line.contains("/panic")
            && line.contains("boom in a handler")
    });
    assert_eq!(logged.count(), 3, "{log}");
}

#[tokio::test]
async fn a_request_head_that_is_too_long_closes_the_connection() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!("GET /peer HTTP/1.1\r\nHost: localhost\r\nX-Long: {}", "a".repeat(2 * MAX_HEAD_BYTES));
    // The connection may be closed before everything is sent.
    let _ = stream.write_all(head.as_bytes()).await;
    assert!(!read_to_end(stream).await.contains("200 OK"));
}
