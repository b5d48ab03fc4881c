use std::{net::Ipv4Addr, path::PathBuf};

use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

use crate::support::tls::acceptor_for;

const HOST: &str = "binaries.soliditylang.org";
const BUILD: &str = "0.8.20+commit.a1b79de6";

/// Stands in for the web site of the Solidity compiler, where forge gets the list of compilers and the compiler itself. It is
/// reached as an HTTPS proxy, and its compiler is the JavaScript build from npm.
#[derive(Debug)]
pub(super) struct CompilerSite {
    pub(super) proxy: String,
    /// The certificate authority that clients must trust.
    pub(super) authority: NamedTempFile,
}

impl CompilerSite {
    pub(super) async fn start() -> Self {
        let (acceptor, authority) = acceptor_for(HOST);
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), authority).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, acceptor.clone()));
            }
        });
        Self { proxy, authority: file }
    }
}

async fn serve(mut stream: TcpStream, acceptor: TlsAcceptor) {
    let connect = read_head(&mut stream).await;
    if !connect.starts_with(&format!("CONNECT {HOST}:443 ")) {
        let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n").await;
        return;
    }
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let request = read_head(&mut stream).await;
    let body = answer(request.split(' ').nth(1).unwrap_or_default());
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
    let _ = stream.shutdown().await;
}

async fn read_head(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn answer(path: &str) -> Vec<u8> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients/solc.cjs");
    let script = std::fs::read(script).unwrap();
    let name = format!("solc-linux-amd64-v{BUILD}");
    if path.ends_with("/list.txt") {
        return format!("soljson-v{BUILD}.js\n").into_bytes();
    }
    if path.ends_with("/list.json") {
        let build = json!({
            "path": name,
            "version": "0.8.20",
            "build": "commit.a1b79de6",
            "longVersion": BUILD,
            "keccak256": format!("0x{}", "00".repeat(32)),
            "sha256": alloy_primitives::hex::encode_prefixed(Sha256::digest(&script)),
            "urls": [],
        });
        return json!({ "builds": [build], "releases": { "0.8.20": name }, "latestRelease": "0.8.20" })
            .to_string()
            .into_bytes();
    }
    script
}
