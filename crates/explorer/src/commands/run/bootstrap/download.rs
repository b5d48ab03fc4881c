//! Downloads a file, and resumes where a connection was cut.

use std::{
    io::{self, Read},
    time::{Duration, Instant},
};

use anyhow::Context;
use hyper::body::Bytes;
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{CONTENT_RANGE, ETAG, IF_RANGE, RANGE},
    redirect::Policy,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::config::bootstrap::is_allowed;

/// A server that is silent for longer is asked again.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// In a row, without a byte.
const MAX_FAILURES: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const MAX_REDIRECTS: usize = 5;
const WAITING_CHUNKS: usize = 16;
const LOG_EVERY: Duration = Duration::from_secs(10);

/// The bytes of a download. Its end is that of the file; a failure is an error.
pub(super) struct Downloaded {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl Read for Downloaded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.current = chunk?,
                None => return Ok(0),
            }
        }
        let part = self.current.split_to(into.len().min(self.current.len()));
        if let Some(into) = into.get_mut(..part.len()) {
            into.copy_from_slice(&part);
        }
        Ok(part.len())
    }
}

pub(super) fn start(url: Url, has_digest: bool, cancel: CancellationToken) -> anyhow::Result<Downloaded> {
    // An error means that a crypto provider is already installed, and that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let redirects = Policy::custom(move |attempt| {
        if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error("too many redirects")
        } else if is_allowed(attempt.url(), has_digest) {
            attempt.follow()
        } else {
            attempt.error("a redirect from https to http")
        }
    });
    let client = Client::builder().redirect(redirects).no_gzip();
    let client = client.connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT).build();
    let client = client.context("cannot download")?;
    let (sender, chunks) = mpsc::channel(WAITING_CHUNKS);
    let download = Download { client, url, sender, position: 0, total: None, etag: None, logged_at: Instant::now() };
    tokio::spawn(download.run(cancel));
    Ok(Downloaded { chunks, current: Bytes::new() })
}

struct Download {
    client: Client,
    url: Url,
    sender: mpsc::Sender<io::Result<Bytes>>,
    position: u64,
    total: Option<u64>,
    etag: Option<String>,
    logged_at: Instant,
}

enum Failure {
    /// A later attempt may succeed.
    Transient(String),
    Fatal(String),
    /// Nobody reads.
    Abandoned,
}

impl Download {
    async fn run(mut self, cancel: CancellationToken) {
        if cancel.run_until_cancelled(self.attempts()).await.is_none() {
            self.fail("stopped".to_owned()).await;
        }
    }

    async fn attempts(&mut self) {
        let (mut failures, mut pause) = (0, FIRST_PAUSE);
        loop {
            let before = self.position;
            let reason = match self.attempt().await {
                Ok(()) | Err(Failure::Abandoned) => return,
                Err(Failure::Fatal(reason)) => return self.fail(reason).await,
                Err(Failure::Transient(reason)) => reason,
            };
            if self.position > before {
                (failures, pause) = (0, FIRST_PAUSE);
            }
            failures += 1;
            if failures > MAX_FAILURES {
                return self.fail(reason).await;
            }
            tracing::warn!(reason, byte = self.position, "the download was interrupted: resuming it");
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }

    async fn fail(&self, reason: String) {
        // Whoever reads may have ended first.
        let _ = self.sender.send(Err(io::Error::other(reason))).await;
    }

    /// Downloads from the current position on.
    async fn attempt(&mut self) -> Result<(), Failure> {
        let mut request = self.client.get(self.url.clone());
        if self.position > 0 {
            request = request.header(RANGE, format!("bytes={}-", self.position));
            if let Some(etag) = &self.etag {
                request = request.header(IF_RANGE, etag);
            }
        }
        let transient = |error: reqwest::Error| Failure::Transient(describe(error));
        let mut response = request.send().await.map_err(transient)?;
        self.check(&response)?;
        while let Some(chunk) = response.chunk().await.map_err(transient)? {
            self.position += chunk.len() as u64;
            self.sender.send(Ok(chunk)).await.map_err(|_| Failure::Abandoned)?;
            if self.logged_at.elapsed() >= LOG_EVERY {
                self.logged_at = Instant::now();
                tracing::info!(
                    megabytes = self.position >> 20,
                    of = self.total.map(|total| total >> 20),
                    "downloading"
                );
            }
        }
        match self.total {
            Some(total) if self.position < total => Err(Failure::Transient("the connection was closed".to_owned())),
            _ => Ok(()),
        }
    }

    fn check(&mut self, response: &Response) -> Result<(), Failure> {
        let status = response.status();
        match status {
            StatusCode::OK if self.position == 0 => {
                self.total = response.content_length();
                let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok());
                self.etag = etag.filter(|etag| !etag.starts_with("W/")).map(str::to_owned);
                Ok(())
            }
            StatusCode::PARTIAL_CONTENT if self.position > 0 => {
                let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
                let expected = format!("bytes {}-", self.position);
                match range {
                    Some(range) if range.starts_with(&expected) => Ok(()),
                    _ => Err(Failure::Fatal("the server resumes at another position".to_owned())),
                }
            }
            StatusCode::OK => {
                Err(Failure::Fatal("the connection was cut, and the server cannot resume it: start again".to_owned()))
            }
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                Err(Failure::Transient(format!("the server answers {status}")))
            }
            _ => Err(Failure::Fatal(format!("the server answers {status}"))),
        }
    }
}

/// With causes, and without the URL, which may contain a secret.
fn describe(error: reqwest::Error) -> String {
    format!("{:#}", anyhow::Error::new(error.without_url()))
}
