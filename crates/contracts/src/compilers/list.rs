//! Native builds from a list, such as the one that the Solidity team publishes for each platform.

use std::{path::Path, time::Duration};

use serde::Deserialize;

use super::{
    CompilerVersion, CompilersError, VersionError,
    checksum::{Executable, keccak, keep, must_be, sha256},
    folder::{Found, place_of_native, place_of_soljson},
};

const PATIENCE: Duration = Duration::from_secs(180);
const MAX_BYTES: u64 = 128 << 20;

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

impl Build {
    fn version(&self) -> Option<CompilerVersion> {
        self.long_version.parse().ok()
    }
}

pub(super) async fn fetch(address: &str, wanted: &CompilerVersion, folder: &Path) -> Result<Found, CompilersError> {
    // Fails where the process has chosen its cryptography already, and then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().timeout(PATIENCE).build().map_err(unfetched)?;
    let base = address.trim_end_matches('/');
    let list = download(&client, &format!("{base}/list.json")).await?;
    let list: List = serde_json::from_slice(&list)
        .map_err(|error| CompilersError::Unfetched(format!("the list of builds is none: {error}")))?;
    let found = list.builds.iter().find(|build| build.version().is_some_and(|version| version.is(wanted)));
    let Some(build) = found else {
        let there = list.builds.iter().filter_map(Build::version).filter(CompilerVersion::is_release).collect();
        return Err(VersionError::unknown(wanted, there).into());
    };
    if build.path.contains(['/', '\\']) {
        return Err(CompilersError::Unfetched("the list names a build by a path".to_owned()));
    }
    let content = download(&client, &format!("{base}/{}", build.path)).await?;
    must_be(&build.path, sha256(&content), &build.sha256)?;
    must_be(&build.path, keccak(&content), &build.keccak256)?;
    let version = build.version().unwrap_or_else(|| wanted.clone());
    let found = if build.path.ends_with(".js") {
        Found::Soljson(place_of_soljson(folder, &version))
    } else {
        Found::Native(place_of_native(folder, &version))
    };
    let (path, executable) = match &found {
        Found::Soljson(path) => (path.clone(), Executable::No),
        Found::Native(path) => (path.clone(), Executable::Yes),
    };
    let kept = tokio::task::spawn_blocking(move || keep(&path, &content, executable)).await;
    kept.map_err(std::io::Error::other).flatten().map_err(CompilersError::Storage)?;
    Ok(found)
}

async fn download(client: &reqwest::Client, address: &str) -> Result<Vec<u8>, CompilersError> {
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
