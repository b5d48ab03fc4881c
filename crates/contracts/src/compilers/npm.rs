//! Compilers out of the npm registry, fetched by npm itself: it knows which registry the operator uses, and how.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use flate2::read::GzDecoder;
use tokio::{process::Command, sync::Mutex, time::timeout};

use super::{
    CompilerVersion, CompilersError, VersionError,
    checksum::{Executable, integrity, keep, must_be},
    folder::{Found, place_of_soljson},
};

/// Releases, the packages that hold them, and what these must hash to. A package that hashes to something else is not
/// used, whoever serves it.
const PINNED: &str = include_str!("npm_packages.txt");
const PATIENCE: Duration = Duration::from_secs(180);
/// How long a list of releases is believed, before it is asked for again for one that is not on it.
const LIST_AGE: Duration = Duration::from_secs(600);
/// The largest package is a tenth of it.
const MAX_UNPACKED: u64 = 128 << 20;

#[derive(Debug)]
pub(super) struct Npm {
    program: PathBuf,
    listed: Mutex<Option<(Instant, Vec<CompilerVersion>)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Package {
    /// Mostly the compiler's own; some were published again under another name.
    version: String,
    integrity: String,
}

impl Npm {
    pub(super) fn new(program: PathBuf) -> Self {
        Self { program, listed: Mutex::default() }
    }

    pub(super) async fn fetch(&self, wanted: &CompilerVersion, folder: &Path) -> Result<Found, CompilersError> {
        let package = match find_pinned(wanted) {
            Some(package) => package,
            None => self.find_listed(wanted).await?,
        };
        let aside = folder.join(format!("fetching-{}", std::process::id()));
        tokio::fs::create_dir_all(&aside).await.map_err(CompilersError::Storage)?;
        let outcome = self.fetch_into(&package, &aside, folder, wanted).await;
        let _ = tokio::fs::remove_dir_all(&aside).await;
        outcome
    }

    async fn fetch_into(
        &self,
        package: &Package,
        aside: &Path,
        folder: &Path,
        wanted: &CompilerVersion,
    ) -> Result<Found, CompilersError> {
        let name = format!("solc@{}", package.version);
        self.run(&["pack", &name, "--silent", "--ignore-scripts", "--prefer-offline"], aside).await?;
        let archive = aside.join(format!("solc-{}.tgz", package.version));
        let archive = tokio::fs::read(&archive).await.map_err(CompilersError::Storage)?;
        must_be(&name, integrity(&archive), &package.integrity)?;
        let path = place_of_soljson(folder, wanted);
        let target = path.clone();
        let work = tokio::task::spawn_blocking(move || {
            let soljson = unpack(&archive)?;
            keep(&target, &soljson, Executable::No)
        });
        work.await.map_err(std::io::Error::other).flatten().map_err(CompilersError::Storage)?;
        tracing::info!(version = %wanted, path = %path.display(), "compiler fetched");
        Ok(Found::Soljson(path))
    }

    /// A release that is newer than this program: the registry's own word for its checksum must do.
    async fn find_listed(&self, wanted: &CompilerVersion) -> Result<Package, CompilersError> {
        let listed = self.list().await;
        let exists =
            |listed: &[CompilerVersion]| wanted.is_release() && listed.iter().any(|one| one.same_release(wanted));
        match listed {
            Ok(listed) if exists(&listed) => {
                let version = wanted.short();
                let here = std::env::temp_dir();
                let said = self.run(&["view", &format!("solc@{version}"), "dist.integrity"], &here).await?;
                let integrity = said.trim().to_owned();
                if !integrity.starts_with("sha512-") {
                    return Err(CompilersError::Unfetched(format!("the registry tells no checksum of solc {version}")));
                }
                Ok(Package { version, integrity })
            }
            Ok(listed) => Err(VersionError::unknown(wanted, listed).into()),
            // Without the registry, those that this program knows.
            Err(error) => {
                tracing::warn!(%error, "the releases of the compiler cannot be listed");
                Err(VersionError::unknown(wanted, pinned().map(|(version, _)| version).collect()).into())
            }
        }
    }

    async fn list(&self) -> Result<Vec<CompilerVersion>, CompilersError> {
        let mut listed = self.listed.lock().await;
        if let Some((at, versions)) = &*listed
            && at.elapsed() < LIST_AGE
        {
            return Ok(versions.clone());
        }
        let said = self.run(&["view", "solc", "versions", "--json"], &std::env::temp_dir()).await?;
        let names: Vec<String> = serde_json::from_str(&said)
            .map_err(|error| CompilersError::Unfetched(format!("the registry's list is none: {error}")))?;
        let versions: Vec<CompilerVersion> = names.iter().filter_map(|name| name.parse().ok()).collect();
        *listed = Some((Instant::now(), versions.clone()));
        Ok(versions)
    }

    async fn run(&self, arguments: &[&str], folder: &Path) -> Result<String, CompilersError> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
        match timeout(PATIENCE, command.output()).await {
            Ok(Ok(output)) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Ok(Ok(output)) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let last: Vec<&str> = said.lines().filter(|line| line.contains("error")).take(3).collect();
                Err(CompilersError::Unfetched(format!("npm {}: {}", arguments[0], last.join("; "))))
            }
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Err(CompilersError::Missing(format!(
                "{} is not installed on the server: install Node.js (20 or later) with npm, or give it compilers (--compiler-source)",
                self.program.display()
            ))),
            Ok(Err(error)) => Err(CompilersError::Storage(error)),
            Err(_) => Err(CompilersError::Unfetched(format!("npm took longer than {PATIENCE:?}"))),
        }
    }
}

fn pinned() -> impl Iterator<Item = (CompilerVersion, Package)> {
    PINNED.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (release, version, integrity) = (words.next()?, words.next()?, words.next()?);
        let package = Package { version: version.to_owned(), integrity: integrity.to_owned() };
        Some((release.parse().ok()?, package))
    })
}

fn find_pinned(wanted: &CompilerVersion) -> Option<Package> {
    pinned().find(|(version, _)| version.same_release(wanted)).map(|(_, package)| package)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_pins_is_read() {
        let lines = PINNED.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(pinned().count(), lines);
        assert!(lines > 80);
        assert!(pinned().all(|(_, package)| package.integrity.starts_with("sha512-") && package.integrity.len() == 95));
    }

    #[test]
    fn corrupt_packages_are_passed_over_for_those_that_were_mended() {
        let package = |text: &str| find_pinned(&text.parse().unwrap()).map(|package| package.version);
        assert_eq!(package("0.8.7").as_deref(), Some("0.8.7-fixed"));
        assert_eq!(package("0.8.20+commit.a1b79de6").as_deref(), Some("0.8.20"));
        assert_eq!(package("0.4.12"), None);
        assert_eq!(package("0.8.20-nightly.2023.4.1+commit.11111111"), None);
    }
}
