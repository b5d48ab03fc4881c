//! Sends commands to the admin interface of a running service.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Body, Bytes, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use tokio::net::UnixStream;

/// A connection to the socket of a running service, for one request.
#[derive(Debug)]
pub(crate) struct AdminClient {
    path: PathBuf,
    stream: UnixStream,
}

impl AdminClient {
    /// None if no service listens on the socket.
    pub(crate) async fn find(path: &Path) -> anyhow::Result<Option<Self>> {
        match UnixStream::connect(path).await {
            Ok(stream) => Ok(Some(Self { path: path.to_owned(), stream })),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(anyhow!(error)).with_context(|| {
                format!("cannot use the admin socket {}: run the command as the user of the service", path.display())
            }),
            // A path that is too long for a socket is invalid input.
            Err(_) => Ok(None),
        }
    }

    /// The service must be running.
    pub(crate) async fn connect(path: &Path) -> anyhow::Result<Self> {
        Self::find(path).await?.with_context(|| {
            format!(
                "no explorer listens on {}: start it, or give its data folder with --data or its socket with --admin-socket",
                path.display()
            )
        })
    }

    pub(crate) async fn get(self, path: &str) -> anyhow::Result<String> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// Sends a command as JSON, and returns the text to print.
    pub(crate) async fn post(self, path: &str, command: &impl Serialize) -> anyhow::Result<String> {
        let body = serde_json::to_vec(command)?;
        self.send(Method::POST, path, body.into()).await
    }

    /// Sends a command as JSON, and hands the bytes of the response to `to`, with their total number, if that is known.
    pub(crate) async fn post_to(
        self,
        path: &str,
        command: &impl Serialize,
        mut to: impl FnMut(&[u8], Option<u64>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let cut = format!("the explorer on {} did not send all: its log says why", self.path.display());
        let mut body = self.request(Method::POST, path, serde_json::to_vec(command)?.into()).await?;
        let total = body.size_hint().exact();
        while let Some(frame) = body.frame().await {
            if let Some(bytes) = frame.with_context(|| cut.clone())?.data_ref() {
                to(bytes, total)?;
            }
        }
        Ok(())
    }

    async fn send(self, method: Method, path: &str, body: Bytes) -> anyhow::Result<String> {
        let no_response = format!("the explorer on {} did not answer", self.path.display());
        let body = self.request(method, path, body).await?.collect().await.context(no_response)?;
        Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
    }

    /// The body of a response that is not an error.
    async fn request(self, method: Method, path: &str, body: Bytes) -> anyhow::Result<Incoming> {
        let no_response = || format!("the explorer on {} did not answer", self.path.display());
        let (mut sender, connection) = http1::handshake(TokioIo::new(self.stream)).await.with_context(no_response)?;
        tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header(header::HOST, "admin");
        let request = request.header(header::CONTENT_TYPE, "application/json").body(Full::new(body))?;
        let response = sender.send_request(request).await.with_context(no_response)?;
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response.into_body());
        }
        if status == StatusCode::NOT_FOUND {
            bail!("the running explorer does not know this command: it is another version");
        }
        let text = response.into_body().collect().await.with_context(no_response)?.to_bytes();
        Err(anyhow!("{}", String::from_utf8_lossy(&text).trim_end()))
    }
}
