//! Compilers: a folder of verified builds, downloaded on demand, and sandboxed compilation of untrusted sources.

mod budget;
mod checksum;
mod disk_cache;
mod error;
mod folder;
mod idle;
mod list;
pub(crate) mod model_checker;
mod native;
mod node;
mod npm;
mod obtain;
mod pinned;
mod process;
mod session;
mod source;
#[cfg(test)]
mod tests;
mod usage;
mod version;
mod vyper;
mod worker;
mod workers;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

pub(crate) use budget::CpuBudget;
pub use error::{CompileError, CompilersError};
use folder::CompilerFile;
use futures::future::BoxFuture;
pub use idle::IdleLimits;
use obtain::Known;
pub(crate) use session::Session;
use source::Source;
use usage::Limits;
pub use version::{CompilerVersion, VersionError};
use workers::Workers;

/// Compilers that are downloaded concurrently.
const MAX_FETCHES: usize = 2;

/// Where compilers that are not in the folder yet are downloaded from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompilerSource {
    /// The `solc` packages of the npm registry that npm is configured for.
    Npm,
    /// The base URL of a `list.json`, as the Solidity team publishes native builds for each platform.
    List(String),
    /// A local folder.
    Folder(PathBuf),
    /// Nowhere: only compilers in the folder are used.
    Offline,
}

/// How compilers are obtained and run.
#[derive(Debug, Clone)]
pub struct CompilerConfig {
    /// Where downloaded compilers are stored.
    pub folder: PathBuf,
    /// Size limit of the folder; the least recently used compilers are deleted first.
    pub folder_bytes: u64,
    pub source: CompilerSource,
    /// The program that runs JavaScript builds.
    pub node: PathBuf,
    pub npm: PathBuf,
    /// CPU time of one compilation.
    pub time_limit: Duration,
    pub memory_limit: u64,
    /// Processes kept for the next source of their version.
    pub idle: IdleLimits,
}

impl CompilerConfig {
    #[must_use]
    pub fn new(folder: PathBuf, source: CompilerSource) -> Self {
        Self {
            folder,
            folder_bytes: 2 << 30,
            source,
            node: "node".into(),
            npm: "npm".into(),
            time_limit: Duration::from_secs(30),
            memory_limit: 1 << 30,
            idle: IdleLimits::default(),
        }
    }

    fn limits(&self) -> Limits {
        Limits { time: self.time_limit, memory: self.memory_limit }
    }
}

/// A compiler on disk whose version has been checked.
#[derive(Debug)]
pub(crate) struct Compiler {
    pub(crate) version: CompilerVersion,
    program: CompilerFile,
}

/// A compiler that is on disk or can be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableCompiler {
    /// Without a commit if that is not known before the download.
    pub version: CompilerVersion,
    /// Whether it is on disk.
    pub fetched: bool,
}

/// All compilers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Compilers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    config: CompilerConfig,
    workers: Workers,
    source: Source,
    known: Mutex<Known>,
    fetching: tokio::sync::Semaphore,
}

impl Compilers {
    #[must_use]
    pub fn new(config: CompilerConfig) -> Self {
        let shared = Shared {
            workers: Workers::new(&config),
            source: Source::new(&config),
            config,
            known: Mutex::default(),
            fetching: tokio::sync::Semaphore::new(MAX_FETCHES),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A compiler of this version, downloaded if necessary. A version without a commit means the release.
    pub(crate) async fn get(&self, wanted: &CompilerVersion) -> Result<Arc<Compiler>, CompilersError> {
        self.shared.get(wanted).await
    }

    /// Starts a series of compilations with one compiler and one CPU budget.
    pub(crate) fn session(&self, compiler: Arc<Compiler>, budget: CpuBudget) -> Session {
        Session::new(Arc::clone(&self.shared), compiler, budget)
    }

    /// Every compiler that is on disk or can be downloaded, newest first.
    pub fn available(&self) -> BoxFuture<'_, Result<Vec<AvailableCompiler>, CompilersError>> {
        Box::pin(async move {
            let local = self.shared.local().await?;
            let mut all: Vec<AvailableCompiler> =
                local.into_iter().map(|(version, _)| AvailableCompiler { version, fetched: true }).collect();
            match self.shared.source.all().await {
                Ok(builds) => {
                    // A file name without a commit means the build of the release.
                    for one in &mut all {
                        if let Some(build) = builds.iter().find(|build| build.is(&one.version)) {
                            one.version = build.clone();
                        }
                    }
                    all.extend(builds.into_iter().map(|version| AvailableCompiler { version, fetched: false }));
                }
                Err(error) if all.is_empty() => return Err(error),
                Err(error) => tracing::warn!(%error, "cannot list the compilers of the source"),
            }
            all.sort_by(|one, other| (&other.version, other.fetched).cmp(&(&one.version, one.fetched)));
            all.dedup_by(|next, kept| next.version == kept.version);
            Ok(all)
        })
    }

    /// Downloads a compiler if necessary, and returns the version that it reports.
    pub fn check<'a>(&'a self, wanted: &'a CompilerVersion) -> BoxFuture<'a, Result<CompilerVersion, CompilersError>> {
        Box::pin(async move { Ok(self.get(wanted).await?.version.clone()) })
    }
}
