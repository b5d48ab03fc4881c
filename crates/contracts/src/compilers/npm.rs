//! Compilers out of the npm registry, fetched by npm itself: it knows which registry the operator uses, and how.

use std::{
    io::Read,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use flate2::read::GzDecoder;
use tokio::{sync::Mutex, time::timeout};

use super::{
    CompilerVersion, CompilersError,
    checksum::{integrity, must_be},
    pinned::{self, Package},
    process::{is_missing, output},
    shelf::Aside,
};

const PATIENCE: Duration = Duration::from_secs(180);
/// How long a list of releases is believed, before it is asked for again for one that is not on it.
const LIST_AGE: Duration = Duration::from_secs(600);
/// After a list could not be had, none is asked for so long.
const LIST_PAUSE: Duration = Duration::from_secs(60);
/// The largest package is a tenth of it.
const MAX_UNPACKED: u64 = 128 << 20;

#[derive(Debug)]
pub(super) struct Npm {
    program: PathBuf,
    listed: Mutex<Listed>,
}

/// Releases that the registry named last.
#[derive(Debug, Default)]
struct Listed {
    versions: Vec<CompilerVersion>,
    ask_again: Option<Instant>,
}

impl Npm {
    pub(super) fn new(program: PathBuf) -> Self {
        Self { program, listed: Mutex::default() }
    }

    /// Builds of a release. Of one that is newer than this program the commit is not known before it is fetched.
    pub(super) async fn find(&self, wanted: &CompilerVersion) -> Vec<CompilerVersion> {
        if let Some((version, _)) = pinned::find(wanted) {
            return vec![version];
        }
        if !wanted.is_release() || pinned::why_lacking(wanted).is_some() {
            return Vec::new();
        }
        let mut listed = self.list().await;
        listed.retain(|version| version.same_release(wanted));
        listed
    }

    /// All builds that can be had.
    pub(super) async fn all(&self) -> Vec<CompilerVersion> {
        let mut all: Vec<CompilerVersion> = pinned::all().map(|(version, _)| version).collect();
        let listed = self.list().await;
        let unknown = |version: &CompilerVersion| {
            pinned::why_lacking(version).is_none() && pinned::find(version).is_none() && version.is_release()
        };
        all.extend(listed.into_iter().filter(unknown));
        all
    }

    /// The compiler out of the package of a build, which must hash to what is known of it.
    pub(super) async fn fetch(&self, build: &CompilerVersion, folder: &Path) -> Result<Vec<u8>, CompilersError> {
        let package = match pinned::find(build) {
            Some((_, package)) => package,
            None => self.describe(build).await?,
        };
        let aside = Aside::new(folder, &package.version).map_err(CompilersError::Storage)?;
        let name = format!("solc@{}", package.version);
        self.run(&["pack", &name, "--silent", "--ignore-scripts", "--prefer-offline"], aside.path()).await?;
        let archive = aside.path().join(format!("solc-{}.tgz", package.version));
        let archive = tokio::fs::read(&archive).await.map_err(CompilersError::Storage)?;
        must_be(&name, integrity(&archive), &package.integrity)?;
        let work = tokio::task::spawn_blocking(move || unpack(&archive));
        work.await.map_err(std::io::Error::other).flatten().map_err(CompilersError::Storage)
    }

    /// A release that is newer than this program: the registry's own word for its checksum must do.
    async fn describe(&self, build: &CompilerVersion) -> Result<Package, CompilersError> {
        let version = build.short();
        let here = std::env::temp_dir();
        let said = self.run(&["view", &format!("solc@{version}"), "dist.integrity"], &here).await?;
        let integrity = said.trim().to_owned();
        if !integrity.starts_with("sha512-") {
            return Err(CompilersError::Unfetched(format!("the registry tells no checksum of solc {version}")));
        }
        Ok(Package { version, integrity })
    }

    async fn list(&self) -> Vec<CompilerVersion> {
        let mut listed = self.listed.lock().await;
        let now = Instant::now();
        if listed.ask_again.is_none_or(|then| then <= now) {
            // Whoever leaves while the list is fetched leaves it to the next, a little later.
            listed.ask_again = Some(now + LIST_PAUSE);
            match self.fetch_list().await {
                Ok(versions) => *listed = Listed { versions, ask_again: Some(now + LIST_AGE) },
                // Without the registry, those that this program knows.
                Err(error) => tracing::warn!(%error, "the releases of the compiler cannot be listed"),
            }
        }
        listed.versions.clone()
    }

    async fn fetch_list(&self) -> Result<Vec<CompilerVersion>, CompilersError> {
        let said = self.run(&["view", "solc", "versions", "--json"], &std::env::temp_dir()).await?;
        let names: Vec<String> = serde_json::from_str(&said)
            .map_err(|error| CompilersError::Unfetched(format!("the registry's list cannot be read: {error}")))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    async fn run(&self, arguments: &[&str], folder: &Path) -> Result<String, CompilersError> {
        match timeout(PATIENCE, output(&self.program, arguments, folder)).await {
            Ok(Ok(output)) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(Ok(output)) if is_missing(output.status) => Err(CompilersError::Missing(format!(
                "{} is not installed on the server: install Node.js (20 or later) with npm, or give it compilers (--compiler-source)",
                self.program.display()
            ))),
            Ok(Ok(output)) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let last: Vec<&str> = said.lines().filter(|line| line.contains("error")).take(3).collect();
                Err(CompilersError::Unfetched(format!("npm {}: {}", arguments[0], last.join("; "))))
            }
            Ok(Err(error)) => Err(CompilersError::Storage(error)),
            Err(_) => Err(CompilersError::Unfetched(format!("npm took longer than {PATIENCE:?}"))),
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
    Err(std::io::Error::other("the package holds no soljson.js"))
}
