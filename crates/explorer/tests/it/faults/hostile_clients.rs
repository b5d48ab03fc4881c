//! Clients that open endless connections and pages do not affect others.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use crate::support::{DevNode, Launch, Stopwatch, TestExplorer, permits, slow_proxy::SlowProxy};

/// A connection from this address of the loopback network.
async fn connect_from(last: u8, explorer: &TestExplorer) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0))).unwrap();
    socket.connect(explorer.client().host().parse().unwrap()).await.unwrap()
}

async fn send_get(stream: &mut TcpStream, path: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    // A rejected connection may be closed before the request is written; its response can still be read.
    let _ = stream.write_all(head.as_bytes()).await;
    read(stream).await
}

async fn read(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = timeout(Duration::from_secs(120), stream.read_to_end(&mut answer)).await.expect("stays open");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn one_client_address_cannot_use_all_connections() {
    permits::timely().await;
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url())
        .argument("--max-connections", 64)
        .argument("--max-connections-per-ip", 16)
        .start()
        .await;
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(connect_from(2, &explorer).await);
    }
    let refused = read(&mut connect_from(2, &explorer).await).await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("too_many_connections"), "{refused}");
    let other = send_get(&mut connect_from(3, &explorer).await, "/health/live").await;
    assert!(other.starts_with("HTTP/1.1 200"), "{other}");

    // They send no request, so they are closed, and the address can connect again.
    let watch = Stopwatch::start();
    for stream in &mut held {
        assert_eq!(read(stream).await, "");
    }
    watch.assert_within(14);
    let again = send_get(&mut connect_from(2, &explorer).await, "/health/live").await;
    assert!(again.starts_with("HTTP/1.1 200"), "{again}");
}

#[tokio::test]
async fn a_few_client_addresses_that_hold_all_connections_make_room_for_another() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url())
        .argument("--max-connections", 32)
        .argument("--max-connections-per-ip", 16)
        .start()
        .await;
    let mut held = Vec::new();
    for number in 0..32 {
        let mut stream = connect_from(2 + number % 2, &explorer).await;
        // A partial request, so that the connection is not idle.
        stream.write_all(b"GET /health/live HTTP/1.1\r\nX-Slow: ").await.unwrap();
        held.push(stream);
    }
    for newcomer in 10..14 {
        let answer = send_get(&mut connect_from(newcomer, &explorer).await, "/health/live").await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{newcomer}: {answer}");
    }
}

#[tokio::test]
async fn page_views_from_one_client_address_do_not_overload_the_node() {
    let chain = DevNode::start().await;
    let node = SlowProxy::in_front_of(&chain.url(), Duration::ZERO).await;
    let explorer = TestExplorer::start(&node.url()).await;
    let client = explorer.client().with_keep_alive();
    let (before, started) = (node.requests(), Instant::now());
    let mut pages = 0_u64;
    while pages < 600 {
        let page = client.get(&format!("/address/0x{pages:040x}")).await;
        // An unused address is shown or not found, depending on whether the node was called.
        assert!([200, 404].contains(&page.status), "{}", page.text);
        pages += 1;
    }
    // 360 calls at once, then 20 per second, plus the calls of the follower. The longer it takes, the more are allowed.
    let allowed = 360 + 20 * started.elapsed().as_secs() + 200;
    let node_calls = node.requests() - before;
    println!("{node_calls} node calls for {pages} pages in {:?}", started.elapsed());
    assert!(node_calls < allowed, "{node_calls} node calls for {pages} pages in {:?}", started.elapsed());
}

#[tokio::test]
async fn too_many_page_views_get_429() {
    let node = DevNode::start().await;
    let explorer = Launch::run(&node.url()).argument("--pages-per-minute", 20).start().await;
    let mut refused = None;
    for _ in 0..40 {
        let page = explorer.get("/blocks").await;
        if page.status != 200 {
            refused = Some(page);
            break;
        }
    }
    let refused = refused.expect("40 pages in a row");
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.text.contains("Too many requests"), "{}", refused.text);
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    // The API has its own limits, and assets have none.
    assert_eq!(explorer.get("/api/v1/stats").await.status, 200);
    assert_eq!(explorer.get("/favicon.svg").await.status, 200);
}
