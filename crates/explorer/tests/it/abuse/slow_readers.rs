//! Clients that read long lists slowly.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use tokio::{io::AsyncWriteExt, net::TcpSocket};

use super::{Scene, rows};
use crate::support::Stopwatch;

#[tokio::test]
async fn slow_readers_of_long_lists_hold_up_nobody() {
    let scene = Scene::with(2_500).await;
    let account = format!("{:#x}", scene.chain.account(1));
    let path = format!("/api?module=account&action=txlist&address={account}");
    let mut slow = Vec::new();
    for number in 0..40_u8 {
        let socket = TcpSocket::new_v4().unwrap();
        // Four from each address: as much as one may read at a time, and more.
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 2, 0, 1 + number / 4), 0))).unwrap();
        socket.set_recv_buffer_size(2_048).unwrap();
        let mut stream = socket.connect(scene.explorer.client().host().parse().unwrap()).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // It reads nothing.
        slow.push(stream);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    for number in 0..8 {
        let watch = Stopwatch::start();
        let answer = scene.client(number).get(&path).await;
        assert!(!rows(&answer).is_empty(), "{}", answer.text);
        watch.assert_within(10);
    }
    drop(slow);
}
