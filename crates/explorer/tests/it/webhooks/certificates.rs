//! Certificates of receivers.

use std::net::Ipv4Addr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::{launch, register};
use crate::support::{DevNode, eventually, fixture::lower_hex, tls::acceptor_for};

/// A receiver with a certificate for 127.0.0.1, and the certificate authority that signed it.
async fn secure_receiver() -> (u16, String) {
    let (acceptor, authority_pem) = acceptor_for("127.0.0.1");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
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
    });
    (port, authority_pem)
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused_until_the_operator_trusts_it() {
    let (port, authority) = secure_receiver().await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority).unwrap();
    let node = DevNode::start().await;
    let owner = lower_hex(node.account(1));
    let url = format!("https://127.0.0.1:{port}/hook");

    let strict = launch(&node.url()).start().await;
    let hook = register(&strict, &url, &owner, &["tx"]).await;
    hook.ping(&strict).await;
    let error = eventually("the refusal", async || {
        hook.deliveries(&strict).await[0]["attempts"][0]["error"].as_str().map(str::to_owned)
    })
    .await;
    assert!(error.contains("certificate") || error.contains("UnknownIssuer"), "{error}");

    let trusting = launch(&node.url()).argument("--webhook-ca-file", file.path().display()).start().await;
    let hook = register(&trusting, &url, &owner, &["tx"]).await;
    for _ in 0..3 {
        hook.ping(&trusting).await;
    }
    eventually("all three", async || {
        let deliveries = hook.deliveries(&trusting).await;
        let delivered = deliveries.iter().filter(|delivery| delivery["status"] == "delivered").count();
        (delivered == 3).then_some(())
    })
    .await;
}
