//! Certificates of receivers.

use std::net::Ipv4Addr;

use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::{Hook, egress::first_error, launch, register};
use crate::support::{
    DevNode, Launch, TestExplorer, eventually,
    fixture::lower_hex,
    tls::{Identity, acceptor_of, identity_of, self_signed},
};

/// A receiver with this certificate, and its authority in a file.
async fn secure_receiver(identity: Identity) -> (u16, NamedTempFile) {
    let (acceptor, authority_pem) = acceptor_of(identity);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(serve(listener, acceptor));
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority_pem).unwrap();
    (port, file)
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    while let Ok((stream, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let mut request = [0; 4_096];
            while stream.read(&mut request).await.is_ok_and(|bytes| bytes > 0) {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
            }
        });
    }
}

/// An explorer with a webhook to which a message was sent.
async fn pinged(node: &DevNode, launch: Launch, url: &str) -> (TestExplorer, Hook) {
    let explorer = launch.start().await;
    let hook = register(&explorer, url, &lower_hex(node.account(1)), &["tx"]).await;
    hook.ping(&explorer).await;
    (explorer, hook)
}

async fn expect_delivery(node: &DevNode, launch: Launch, url: &str) {
    let (explorer, hook) = pinged(node, launch, url).await;
    hook.ping(&explorer).await;
    eventually("both messages", async || {
        let deliveries = hook.deliveries(&explorer).await;
        assert!(deliveries.iter().all(|delivery| delivery["attempts"][0]["error"].is_null()), "{deliveries:?}");
        let delivered = deliveries.iter().filter(|delivery| delivery["status"] == "delivered").count();
        (delivered == 2).then_some(())
    })
    .await;
}

async fn expect_refusal(node: &DevNode, launch: Launch, url: &str, reason: &str) {
    let (explorer, hook) = pinged(node, launch, url).await;
    let error = first_error(&explorer, &hook).await;
    assert!(error.contains(reason), "{error}");
    explorer.wait_for_log(reason).await;
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_until_the_operator_or_the_system_trusts_it() {
    let (port, file) = secure_receiver(identity_of("127.0.0.1")).await;
    let (node, url) = (DevNode::start().await, format!("https://127.0.0.1:{port}/hook"));
    expect_refusal(&node, launch(&node.url()), &url, "UnknownIssuer").await;
    let path = file.path().display();
    expect_delivery(&node, launch(&node.url()).argument("--webhook-ca-file", path), &url).await;
    expect_delivery(&node, launch(&node.url()).variable("SSL_CERT_FILE", file.path().display()), &url).await;
}

#[tokio::test]
async fn the_own_certificate_of_a_receiver_is_accepted_for_its_names_and_its_time() {
    let node = DevNode::start().await;
    let trusting = |file: &NamedTempFile| launch(&node.url()).argument("--webhook-ca-file", file.path().display());
    let (port, file) = secure_receiver(self_signed("127.0.0.1", |_| {})).await;
    let url = format!("https://127.0.0.1:{port}/hook");
    expect_delivery(&node, trusting(&file), &url).await;
    expect_refusal(&node, launch(&node.url()), &url, "CaUsedAsEndEntity").await;
    let other = format!("https://localhost:{port}/hook");
    expect_refusal(&node, trusting(&file), &other, "not valid for name").await;

    let expired = self_signed("127.0.0.1", |params| params.not_after = rcgen::date_time_ymd(2020, 1, 1));
    let (port, file) = secure_receiver(expired).await;
    expect_refusal(&node, trusting(&file), &format!("https://127.0.0.1:{port}/hook"), "certificate expired").await;
}
