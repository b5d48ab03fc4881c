//! Compilers: a folder of verified builds, downloaded on demand, and sandboxed compilation of untrusted sources.

mod budget;
mod checksum;
mod config;
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

use std::sync::Arc;

pub(crate) use budget::CpuBudget;
pub use config::{CompilerConfig, CompilerSource};
pub use error::{CompileError, CompilersError};
use futures::future::BoxFuture;
pub use idle::IdleLimits;
pub(crate) use obtain::Compiler;
use obtain::Inventory;
pub(crate) use session::Session;
pub use version::{CompilerVersion, VersionError};

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
    inventory: Arc<Inventory>,
}

impl Compilers {
    #[must_use]
    pub fn new(config: CompilerConfig) -> Self {
        Self { inventory: Arc::new(Inventory::new(config)) }
    }

    /// A compiler of this version, downloaded if necessary. A version without a commit means the release.
    pub(crate) async fn get(&self, wanted: &CompilerVersion) -> Result<Arc<Compiler>, CompilersError> {
        self.inventory.get(wanted).await
    }

    /// Starts a series of compilations with one compiler and one CPU budget.
    pub(crate) fn session(&self, compiler: Arc<Compiler>, budget: CpuBudget) -> Session {
        Session::new(Arc::clone(&self.inventory), compiler, budget)
    }

    /// Every compiler that is on disk or can be downloaded, newest first.
    pub fn available(&self) -> BoxFuture<'_, Result<Vec<AvailableCompiler>, CompilersError>> {
        Box::pin(async move {
            let local = self.inventory.local().await?;
            let mut all: Vec<AvailableCompiler> =
                local.into_iter().map(|(version, _)| AvailableCompiler { version, fetched: true }).collect();
            match self.inventory.source.all().await {
                Ok(builds) => {
                    // A file name without a commit means the build of the release.
                    for one in &mut all {
                        if let Some(build) = builds.iter().find(|build| build.satisfies(&one.version)) {
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
