//! Compilers from the npm registry, downloaded by npm itself, which knows the operator's registry and credentials.

use std::{
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use domain::Language;
use flate2::read::GzDecoder;
use tokio::{sync::Mutex, time::timeout};

use super::{
    CompilerVersion, CompilersError,
    checksum::{check_checksum, integrity},
    disk_cache::TemporaryFolder,
    pinned::{self, Package},
    process::{is_missing, output},
};

const TIMEOUT: Duration = Duration::from_secs(180);
/// How long the list of releases is cached.
const LIST_TTL: Duration = Duration::from_secs(600);
/// How long to wait before a failed list is fetched again.
const LIST_RETRY_DELAY: Duration = Duration::from_secs(60);
/// Ten times the size of the largest package.
const MAX_UNPACKED: u64 = 128 << 20;

#[derive(Debug)]
pub(super) struct Npm {
    program: PathBuf,
    listed: Mutex<Listed>,
}

/// The cached list of releases.
#[derive(Debug, Default)]
struct Listed {
    versions: Vec<CompilerVersion>,
    refresh_at: Option<Instant>,
}

impl Npm {
    pub(super) fn new(program: PathBuf) -> Self {
        Self { program, listed: Mutex::default() }
    }

    /// Builds of a release. For one that is not pinned, the commit is not known before the download.
    pub(super) async fn find(&self, wanted: &CompilerVersion) -> Vec<CompilerVersion> {
        if let Some((version, _)) = pinned::find(wanted) {
            return vec![version];
        }
        if wanted.language() != Language::Solidity || !wanted.is_release() || pinned::why_unavailable(wanted).is_some()
        {
            return Vec::new();
        }
        let mut listed = self.list().await;
        listed.retain(|version| version.same_release(wanted));
        listed
    }

    /// All builds that can be downloaded.
    pub(super) async fn all(&self) -> Vec<CompilerVersion> {
        let mut all: Vec<CompilerVersion> = pinned::all().map(|(version, _)| version).collect();
        let listed = self.list().await;
        let unknown = |version: &CompilerVersion| {
            pinned::why_unavailable(version).is_none() && pinned::find(version).is_none() && version.is_release()
        };
        all.extend(listed.into_iter().filter(unknown));
        all
    }

    /// Downloads the package of a build, checks its integrity, and extracts the compiler.
    pub(super) async fn fetch(&self, build: &CompilerVersion, folder: &Path) -> Result<Vec<u8>, CompilersError> {
        let package = match pinned::find(build) {
            Some((_, package)) => package,
            None => self.describe(build).await?,
        };
        let temporary = TemporaryFolder::new(folder, &package.version).map_err(CompilersError::Storage)?;
        let name = format!("solc@{}", package.version);
        self.run(&["pack", &name, "--silent", "--ignore-scripts", "--prefer-offline"], temporary.path()).await?;
        let archive = temporary.path().join(format!("solc-{}.tgz", package.version));
        let archive = tokio::fs::read(&archive).await.map_err(CompilersError::Storage)?;
        check_checksum(&name, integrity(&archive), &package.integrity)?;
        let work = tokio::task::spawn_blocking(move || unpack(&archive));
        work.await.map_err(std::io::Error::other).flatten().map_err(CompilersError::Storage)
    }

    /// A release that is not pinned: the checksum is taken from the registry.
    async fn describe(&self, build: &CompilerVersion) -> Result<Package, CompilersError> {
        let version = build.short();
        let here = std::env::temp_dir();
        let output = self.run(&["view", &format!("solc@{version}"), "dist.integrity"], &here).await?;
        let integrity = output.trim().to_owned();
        if !integrity.starts_with("sha512-") {
            return Err(CompilersError::FetchFailed(format!("the registry has no checksum for solc {version}")));
        }
        Ok(Package { version, integrity })
    }

    async fn list(&self) -> Vec<CompilerVersion> {
        let mut listed = self.listed.lock().await;
        let now = Instant::now();
        if listed.refresh_at.is_none_or(|then| then <= now) {
            // Set before the fetch, in case this future is dropped while it runs.
            listed.refresh_at = Some(now + LIST_RETRY_DELAY);
            match self.fetch_list().await {
                Ok(versions) => *listed = Listed { versions, refresh_at: Some(now + LIST_TTL) },
                Err(error) => tracing::warn!(%error, "cannot list compiler releases, using the pinned ones"),
            }
        }
        listed.versions.clone()
    }

    async fn fetch_list(&self) -> Result<Vec<CompilerVersion>, CompilersError> {
        let output = self.run(&["view", "solc", "versions", "--json"], &std::env::temp_dir()).await?;
        let names: Vec<String> = serde_json::from_str(&output)
            .map_err(|error| CompilersError::FetchFailed(format!("the registry's list is invalid: {error}")))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    async fn run(&self, arguments: &[&str], folder: &Path) -> Result<String, CompilersError> {
        match timeout(TIMEOUT, output(&self.program, arguments, folder)).await {
            Ok(Ok(output)) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(Ok(output)) if is_missing(output.status) => Err(CompilersError::Missing(format!(
                "{} is not installed on the server: install Node.js (20 or later) with npm, or give it compilers (--compiler-source)",
                self.program.display()
            ))),
            Ok(Ok(output)) => {
                let output = String::from_utf8_lossy(&output.stderr);
                let last: Vec<&str> = output.lines().filter(|line| line.contains("error")).take(3).collect();
                Err(CompilersError::FetchFailed(format!(
                    "npm {}: {}",
                    arguments.first().unwrap_or(&""),
                    last.join("; ")
                )))
            }
            Ok(Err(error)) => Err(CompilersError::Storage(error)),
            Err(_) => Err(CompilersError::FetchFailed(format!("npm took longer than {TIMEOUT:?}"))),
        }
    }
}

fn unpack(archive: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut files = tar::Archive::new(GzDecoder::new(archive).take(MAX_UNPACKED));
    for file in files.entries()? {
        let mut file = file?;
        if file.path()?.as_os_str() == "package/soljson.js" {
            let mut content = Vec::new();
            file.read_to_end(&mut content)?;
            return Ok(content);
        }
    }
    Err(std::io::Error::other("the package contains no soljson.js"))
}
