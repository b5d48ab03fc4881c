//! `explorer run --bootstrap`: begins with an index that somebody has published, once it was compared with the node.

mod download;
mod verify;

use std::{
    fmt,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use node::{BlockChecks, NodeClient, NodeConfig};
use reqwest::Url;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{Location, ServiceConfig},
    snapshot::{self, Content, Extracted},
    stores::{self, Restoration},
};

/// In the folder of the restoration.
const RECEIVED: &str = "received";
const WITHOUT_RECORDS: &str = "index-only";
/// Begins the digest at the end of a source.
const DIGEST: &str = "#sha256=";

/// A snapshot to begin with.
#[derive(Debug, Clone)]
pub(crate) struct Bootstrap {
    source: Source,
    /// Of the file, in lower case.
    sha256: Option<String>,
}

#[derive(Clone)]
enum Source {
    Url(Url),
    File(PathBuf),
}

/// Without what may be secret in a URL.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => write!(f, "{}://{}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path()),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Bootstrap {
    pub(crate) fn from_option(given: Option<&str>, location: &Location) -> anyhow::Result<Option<Self>> {
        match (given, location) {
            (Some(_), Location::Database { .. }) => {
                bail!("--bootstrap fills a data folder: leave it or --database out")
            }
            (Some(given), Location::Folder(_)) => Self::new(given).map(Some),
            (None, _) => Ok(None),
        }
    }

    /// From a URL or a path, possibly with the digest of the file.
    fn new(given: &str) -> anyhow::Result<Self> {
        let (source, sha256) = match given.rsplit_once(DIGEST) {
            Some((source, digest)) => (source, Some(digest.to_ascii_lowercase())),
            None => (given, None),
        };
        if let Some(digest) = &sha256 {
            let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            ensure!(is_digest, "{DIGEST} of --bootstrap needs 64 hexadecimal digits, as `sha256sum FILE` prints them");
        }
        let source = if source.starts_with("http://") || source.starts_with("https://") {
            let url: Url = source.parse().context("invalid --bootstrap: give a URL or a file")?;
            ensure!(
                download::is_allowed(&url, sha256.is_some()),
                "anybody on the way can change what comes over http: give an https URL with --bootstrap, or the digest of the \
                 file at the end of the URL, as {DIGEST}HEX"
            );
            Source::Url(url)
        } else {
            Source::File(source.into())
        };
        Ok(Self { source, sha256 })
    }
}

/// Fills a data folder without an index. Interrupted, it leaves nothing, and the next start begins again.
pub(crate) async fn prepare(config: &ServiceConfig, cancel: &CancellationToken) -> anyhow::Result<()> {
    let (Some(bootstrap), Location::Folder(data)) = (&config.bootstrap, &config.location) else { return Ok(()) };
    if stores::has_index(data) {
        tracing::info!("the data folder has an index: --bootstrap is ignored");
        return Ok(());
    }
    let preparing = fill(bootstrap, config, data, cancel);
    preparing.await.with_context(|| format!("cannot begin with the snapshot {}", bootstrap.source))
}

async fn fill(
    bootstrap: &Bootstrap,
    config: &ServiceConfig,
    data: &Path,
    cancel: &CancellationToken,
) -> anyhow::Result<()> {
    let restoration = stores::begin_bootstrap(data)?;
    tracing::info!(source = %bootstrap.source, "the data folder is empty: beginning with a snapshot");
    let from: Box<dyn Read + Send> = match &bootstrap.source {
        Source::Url(url) => Box::new(download::start(url.clone(), bootstrap.sha256.is_some(), cancel.clone())?),
        Source::File(path) => Box::new(BufReader::new(snapshot::open(path)?)),
    };
    let from = UntilCancelled { from, cancel: cancel.clone() };
    let (restoration, files) = receive(restoration, from, bootstrap.sha256.clone()).await?;
    let store = stores::open_bootstrapped(&files)?;
    // The index is compared with the node's data, so that data must be verified.
    let node = NodeClient::new(NodeConfig { verify_blocks: BlockChecks::Full, ..config.node.clone() })?;
    let verified = cancel.run_until_cancelled(verify::verify(store.as_ref(), &node, config.start_block)).await;
    let verified = verified.context("stopped")??;
    drop(store);
    tokio::task::spawn_blocking(move || stores::finish_restoration(restoration, &files)).await??;
    tracing::info!(
        tip = verified.tip.number,
        blocks_compared = verified.compared,
        blocks_missing_at_node = verified.missing,
        "the snapshot agrees with the node: indexing goes on from it"
    );
    Ok(())
}

/// Reads the archive, and returns the folder with its index, without any records.
async fn receive(
    restoration: Restoration,
    mut from: UntilCancelled,
    sha256: Option<String>,
) -> anyhow::Result<(Restoration, PathBuf)> {
    let receiving = move || {
        let received = restoration.folder().join(RECEIVED);
        let Extracted { manifest, found, sha256: actual } = snapshot::extract(&mut from, &received)?;
        if let Some(expected) = sha256 {
            ensure!(actual == expected, "its SHA-256 is {actual}, and not that of --bootstrap");
        }
        ensure!(
            manifest.index_version == stores::VERSIONS.0,
            "an older explorer has written it, and its index would be filled again: use a newer snapshot, or leave --bootstrap out"
        );
        if manifest.content == Content::Index && !found.has_private_rows {
            return Ok((restoration, received));
        }
        tracing::warn!("the snapshot has records of its publisher, such as API keys: only its index is used");
        let stripped = restoration.folder().join(WITHOUT_RECORDS);
        stores::copy_index(&received, &stripped)?;
        Ok((restoration, stripped))
    };
    tokio::task::spawn_blocking(receiving).await?
}

/// Ends with an error when the process is to stop.
struct UntilCancelled {
    from: Box<dyn Read + Send>,
    cancel: CancellationToken,
}

impl Read for UntilCancelled {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        self.from.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_needs_a_digest_unless_the_host_is_this_one() {
        let digest = format!("#sha256={}", "AB".repeat(32));
        assert!(Bootstrap::new("https://example.com/a.tar").is_ok());
        for local in ["http://127.0.0.1:8000/a.tar", "http://localhost/a.tar", "http://[::1]:1/a.tar"] {
            assert!(Bootstrap::new(local).is_ok(), "{local}");
        }
        for other in ["http://example.com/a.tar", "http://localhost.example.com/a", "http://10.0.0.1/a"] {
            assert!(Bootstrap::new(other).is_err(), "{other}");
            assert!(Bootstrap::new(&format!("{other}{digest}")).is_ok(), "{other}");
        }
        assert!(Bootstrap::new("/srv/a.tar#sha256=abc").is_err());
        let file = Bootstrap::new(&format!("/srv/#1.tar{digest}")).unwrap();
        assert_eq!((file.source.to_string(), file.sha256), ("/srv/#1.tar".to_owned(), Some("ab".repeat(32))));
        let shown = Bootstrap::new("https://user:secret@example.com/a.tar?token=secret").unwrap();
        assert_eq!(shown.source.to_string(), "https://example.com/a.tar");
        assert!(!format!("{shown:?}").contains("secret"));
    }
}
