//! Compilers: a folder of them, filled on demand and checked, and the running of one on sources that nobody trusts.

mod budget;
mod checksum;
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
mod shelf;
mod source;
#[cfg(test)]
mod tests;
mod version;
mod watch;
mod worker;
mod workers;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

pub(crate) use budget::CpuBudget;
pub use error::{CompileError, CompilersError};
use folder::Found;
pub use idle::IdleLimits;
use obtain::Known;
pub(crate) use session::Session;
use source::Source;
pub use version::{CompilerVersion, VersionError};
use watch::Limits;
use workers::Workers;

/// Compilers that are fetched at once.
const FETCHES: usize = 2;

/// Where compilers come from that are not in the folder yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompilerSource {
    /// The packages of `solc` in the npm registry that npm is set up for.
    Npm,
    /// The address of a folder with a `list.json`, as the Solidity team publishes native builds for each platform.
    List(String),
    /// A folder of the operator's own.
    Folder(PathBuf),
    /// Nowhere: what the folder holds must do.
    Offline,
}

/// How compilers are got and run.
#[derive(Debug, Clone)]
pub struct CompilerConfig {
    /// Where fetched compilers are kept.
    pub folder: PathBuf,
    /// Those that were used longest ago are deleted where all of them are larger than this.
    pub folder_bytes: u64,
    pub source: CompilerSource,
    /// The program that runs JavaScript builds.
    pub node: PathBuf,
    pub npm: PathBuf,
    /// For one compilation.
    pub time_limit: Duration,
    pub memory_limit: u64,
    /// Processes that wait for the next source of their version.
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

/// A compiler that is at hand and has been found to be what it is called.
#[derive(Debug)]
pub(crate) struct Compiler {
    pub(crate) version: CompilerVersion,
    program: Found,
}

/// A compiler that can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvailableCompiler {
    /// Without a commit where that is not known before it is fetched.
    pub version: CompilerVersion,
    /// Whether it is at hand already.
    pub fetched: bool,
}

/// All compilers there are. Cheap to share.
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
            fetching: tokio::sync::Semaphore::new(FETCHES),
        };
        Self { shared: Arc::new(shared) }
    }

    /// A compiler of this version, fetched if need be. A version without a commit stands for the release.
    pub(crate) async fn get(&self, wanted: &CompilerVersion) -> Result<Arc<Compiler>, CompilersError> {
        self.shared.get(wanted).await
    }

    /// Compilations by one compiler on one budget.
    pub(crate) fn session(&self, compiler: Arc<Compiler>, budget: CpuBudget) -> Session {
        Session::new(Arc::clone(&self.shared), compiler, budget)
    }

    /// Every compiler that is at hand or can be fetched, newest first.
    pub async fn available(&self) -> Result<Vec<AvailableCompiler>, CompilersError> {
        let local = self.shared.local().await?;
        let mut all: Vec<AvailableCompiler> =
            local.into_iter().map(|(version, _)| AvailableCompiler { version, fetched: true }).collect();
        match self.shared.source.all().await {
            Ok(builds) => {
                // A file that tells no commit is the build of its release.
                for one in &mut all {
                    if let Some(build) = builds.iter().find(|build| build.is(&one.version)) {
                        one.version = build.clone();
                    }
                }
                all.extend(builds.into_iter().map(|version| AvailableCompiler { version, fetched: false }));
            }
            Err(error) if all.is_empty() => return Err(error),
            Err(error) => tracing::warn!(%error, "the source of compilers cannot be asked"),
        }
        all.sort_by(|one, other| (&other.version, other.fetched).cmp(&(&one.version, one.fetched)));
        all.dedup_by(|next, kept| next.version == kept.version);
        Ok(all)
    }

    /// Fetches a compiler if need be, and tells what it says that it is.
    pub async fn check(&self, wanted: &CompilerVersion) -> Result<CompilerVersion, CompilersError> {
        Ok(self.get(wanted).await?.version.clone())
    }
}
