//! The baseline: a server that returns constant bytes. It runs as a separate process, like the explorer.

use std::{io::Write, net::Ipv4Addr, path::Path, process::Stdio};

use anyhow::Context;
use axum::{Router, body::Bytes, http::header::CONTENT_TYPE, routing::any, serve::ListenerExt};
use tempfile::NamedTempFile;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpListener,
    process::{Child, Command},
};

use crate::explorer::cpu_seconds;

pub(super) struct BareHandler {
    process: Child,
    pub(super) url: String,
    /// The served bytes.
    _body: NamedTempFile,
}

impl BareHandler {
    pub(super) async fn start(body: &[u8]) -> anyhow::Result<Self> {
        let mut file = NamedTempFile::new()?;
        file.write_all(body)?;
        let mut process = Command::new(std::env::current_exe()?)
            .arg("--serve-bare")
            .arg(file.path())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().context("no output")?).lines();
        let url = lines.next_line().await?.context("the bare handler exited at startup")?;
        Ok(Self { process, url, _body: file })
    }

    /// CPU seconds used so far, user and system.
    pub(super) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        cpu_seconds(self.process.id().context("the bare handler has ended")?)
    }

    pub(super) async fn stop(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }
}

/// Serves the bytes of a file at every path until it is killed.
pub(crate) async fn serve(body: &Path) -> anyhow::Result<()> {
    let body = Bytes::from(std::fs::read(body)?);
    let handler = move || {
        let body = body.clone();
        async move { ([(CONTENT_TYPE, "application/json")], body) }
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    // As the explorer does.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, Router::new().fallback(any(handler))).await?)
}
