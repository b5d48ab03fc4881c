//! Native builds from a list, such as the one that the Solidity team publishes for each platform.

use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::sync::Mutex;

use super::{
    CompilerVersion, CompilersError,
    checksum::{keccak, must_be, sha256},
};

const PATIENCE: Duration = Duration::from_secs(180);
const LIST_PATIENCE: Duration = Duration::from_secs(20);
/// How long a list is believed.
const LIST_AGE: Duration = Duration::from_secs(600);
/// After a list could not be had, none is asked for so long.
const LIST_PAUSE: Duration = Duration::from_secs(20);
const MAX_BYTES: u64 = 128 << 20;

/// A folder with a `list.json`, and what that said last.
#[derive(Debug)]
pub(super) struct BuildList {
    address: String,
    listed: Mutex<Listed>,
}

#[derive(Debug, Default)]
struct Listed {
    builds: Option<Vec<Build>>,
    ask_again: Option<Instant>,
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

/// What a build turned out to be.
#[derive(Debug)]
pub(super) enum Program {
    Soljson(Vec<u8>),
    Native(Vec<u8>),
}

impl BuildList {
    pub(super) fn new(address: &str) -> Self {
        Self { address: address.trim_end_matches('/').to_owned(), listed: Mutex::default() }
    }

    /// All builds that can be had.
    pub(super) async fn all(&self) -> Result<Vec<CompilerVersion>, CompilersError> {
        Ok(self.builds().await?.iter().filter_map(Build::version).collect())
    }

    pub(super) async fn fetch(&self, wanted: &CompilerVersion) -> Result<Program, CompilersError> {
        let builds = self.builds().await?;
        let build = builds.into_iter().find(|build| build.version().as_ref() == Some(wanted));
        let build = build.ok_or_else(|| CompilersError::Unfetched(format!("{wanted} is no longer on the list")))?;
        if build.path.contains(['/', '\\']) {
            return Err(CompilersError::Unfetched("the list names a build by a path".to_owned()));
        }
        let content = download(&format!("{}/{}", self.address, build.path), PATIENCE).await?;
        must_be(&build.path, sha256(&content), &build.sha256)?;
        must_be(&build.path, keccak(&content), &build.keccak256)?;
        Ok(if build.path.ends_with(".js") { Program::Soljson(content) } else { Program::Native(content) })
    }

    async fn builds(&self) -> Result<Vec<Build>, CompilersError> {
        let mut listed = self.listed.lock().await;
        let now = Instant::now();
        if listed.ask_again.is_none_or(|then| then <= now) {
            listed.ask_again = Some(now + LIST_PAUSE);
            match self.fetch_list().await {
                Ok(builds) => *listed = Listed { builds: Some(builds), ask_again: Some(now + LIST_AGE) },
                // What it said before still holds.
                Err(error) if listed.builds.is_some() => tracing::warn!(%error, "the list of compilers cannot be had"),
                Err(error) => return Err(error),
            }
        }
        listed.builds.clone().ok_or_else(|| CompilersError::Unfetched("the list of builds cannot be had".to_owned()))
    }

    async fn fetch_list(&self) -> Result<Vec<Build>, CompilersError> {
        let list = download(&format!("{}/list.json", self.address), LIST_PATIENCE).await?;
        let list: List = serde_json::from_slice(&list)
            .map_err(|error| CompilersError::Unfetched(format!("the list of builds cannot be read: {error}")))?;
        Ok(list.builds)
    }
}

impl Build {
    fn version(&self) -> Option<CompilerVersion> {
        self.long_version.parse().ok()
    }
}

async fn download(address: &str, patience: Duration) -> Result<Vec<u8>, CompilersError> {
    // Fails where the process has chosen its cryptography already, and then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(patience).build().map_err(unfetched)?;
    let mut response =
        client.get(address).send().await.and_then(reqwest::Response::error_for_status).map_err(unfetched)?;
    let mut content = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(unfetched)? {
        if content.len() as u64 + piece.len() as u64 > MAX_BYTES {
            return Err(CompilersError::Unfetched(format!("{address} is longer than {MAX_BYTES} bytes")));
        }
        content.extend_from_slice(&piece);
    }
    Ok(content)
}

fn unfetched(error: reqwest::Error) -> CompilersError {
    CompilersError::Unfetched(error.to_string())
}
