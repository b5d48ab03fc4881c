//! Native builds from a `list.json`, as the Solidity team publishes for each platform. Builds of Vyper are in the same
//! list, with file names that start with `vyper`.

use std::time::{Duration, Instant};

use domain::Language;
use serde::Deserialize;
use tokio::sync::Mutex;

use super::{
    CompilerVersion, CompilersError,
    checksum::{check_checksum, keccak, sha256},
};

const TIMEOUT: Duration = Duration::from_secs(180);
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a list is cached.
const LIST_TTL: Duration = Duration::from_secs(600);
/// How long to wait before a failed list is fetched again.
const LIST_RETRY_DELAY: Duration = Duration::from_secs(20);
const MAX_BYTES: u64 = 128 << 20;

/// A base URL with a `list.json`, and the cached list.
#[derive(Debug)]
pub(super) struct BuildList {
    url: String,
    listed: Mutex<Listed>,
}

#[derive(Debug, Default)]
struct Listed {
    builds: Option<Vec<Build>>,
    refresh_at: Option<Instant>,
}

#[derive(Debug, Deserialize)]
struct List {
    builds: Vec<Build>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Build {
    path: String,
    long_version: String,
    keccak256: String,
    sha256: String,
}

/// The content of a build.
#[derive(Debug)]
pub(super) enum Program {
    Soljson(Vec<u8>),
    Native(Vec<u8>),
}

impl BuildList {
    pub(super) fn new(url: &str) -> Self {
        Self { url: url.trim_end_matches('/').to_owned(), listed: Mutex::default() }
    }

    /// All listed builds.
    pub(super) async fn all(&self) -> Result<Vec<CompilerVersion>, CompilersError> {
        Ok(self.builds().await?.iter().filter_map(Build::version).collect())
    }

    pub(super) async fn fetch(&self, wanted: &CompilerVersion) -> Result<Program, CompilersError> {
        let builds = self.builds().await?;
        let build = builds.into_iter().find(|build| build.version().as_ref() == Some(wanted));
        let build = build.ok_or_else(|| CompilersError::FetchFailed(format!("{wanted} is no longer on the list")))?;
        if build.path.contains(['/', '\\']) {
            return Err(CompilersError::FetchFailed("the list contains a path outside of its folder".to_owned()));
        }
        let content = download(&format!("{}/{}", self.url, build.path), TIMEOUT).await?;
        check_checksum(&build.path, sha256(&content), &build.sha256)?;
        check_checksum(&build.path, keccak(&content), &build.keccak256)?;
        Ok(if build.path.ends_with(".js") { Program::Soljson(content) } else { Program::Native(content) })
    }

    async fn builds(&self) -> Result<Vec<Build>, CompilersError> {
        let mut listed = self.listed.lock().await;
        let now = Instant::now();
        if listed.refresh_at.is_none_or(|then| then <= now) {
            listed.refresh_at = Some(now + LIST_RETRY_DELAY);
            match self.fetch_list().await {
                Ok(builds) => *listed = Listed { builds: Some(builds), refresh_at: Some(now + LIST_TTL) },
                Err(error) if listed.builds.is_some() => {
                    tracing::warn!(%error, "cannot refresh the list of compilers, using the cached one");
                }
                Err(error) => return Err(error),
            }
        }
        listed.builds.clone().ok_or_else(|| CompilersError::FetchFailed("the list of builds is unavailable".to_owned()))
    }

    async fn fetch_list(&self) -> Result<Vec<Build>, CompilersError> {
        let list = download(&format!("{}/list.json", self.url), LIST_TIMEOUT).await?;
        let list: List = serde_json::from_slice(&list)
            .map_err(|error| CompilersError::FetchFailed(format!("the list of builds is invalid: {error}")))?;
        Ok(list.builds)
    }
}

impl Build {
    fn version(&self) -> Option<CompilerVersion> {
        let language = if self.path.starts_with("vyper") { Language::Vyper } else { Language::Solidity };
        CompilerVersion::parse(&self.long_version, language).ok()
    }
}

async fn download(url: &str, timeout: Duration) -> Result<Vec<u8>, CompilersError> {
    // An error means that a crypto provider is already installed, and that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(timeout).build().map_err(fetch_failed)?;
    let mut response =
        client.get(url).send().await.and_then(reqwest::Response::error_for_status).map_err(fetch_failed)?;
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(fetch_failed)? {
        if content.len() as u64 + piece.len() as u64 > MAX_BYTES {
            return Err(CompilersError::FetchFailed(format!("{url} is longer than {MAX_BYTES} bytes")));
        }
        content.extend_from_slice(&piece);
    }
    Ok(content)
}

fn fetch_failed(error: reqwest::Error) -> CompilersError {
    CompilersError::FetchFailed(error.to_string())
}
