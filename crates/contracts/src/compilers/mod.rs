//! Compilers: a folder of them, filled on demand and checked, and the running of one on sources that nobody trusts.

mod checksum;
mod error;
mod folder;
mod list;
mod native;
mod node;
mod npm;
mod process;
#[cfg(test)]
mod tests;
mod version;
mod workers;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

pub use error::{CompileError, CompilersError};
use folder::Found;
use npm::Npm;
pub use version::{CompilerVersion, VersionError};
use workers::Workers;

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
    pub source: CompilerSource,
    /// The program that runs JavaScript builds.
    pub node: PathBuf,
    pub npm: PathBuf,
    /// For one compilation.
    pub time_limit: Duration,
    pub memory_limit: u64,
}

impl CompilerConfig {
    #[must_use]
    pub fn new(folder: PathBuf, source: CompilerSource) -> Self {
        Self {
            folder,
            source,
            node: "node".into(),
            npm: "npm".into(),
            time_limit: Duration::from_secs(30),
            memory_limit: 1 << 30,
        }
    }
}

/// A compiler that is at hand and has been found to be what it is called.
#[derive(Debug)]
pub(crate) struct Compiler {
    pub(crate) version: CompilerVersion,
    program: Found,
}

/// All compilers there are. Cheap to share.
#[derive(Debug)]
pub struct Compilers {
    config: CompilerConfig,
    workers: Workers,
    npm: Npm,
    ready: Mutex<HashMap<CompilerVersion, Arc<Compiler>>>,
    /// One is fetched at a time: whoever waits most likely waits for the same one.
    fetching: tokio::sync::Mutex<()>,
}

impl Compilers {
    #[must_use]
    pub fn new(config: CompilerConfig) -> Self {
        Self {
            workers: Workers::new(&config),
            npm: Npm::new(config.npm.clone()),
            config,
            ready: Mutex::default(),
            fetching: tokio::sync::Mutex::default(),
        }
    }

    /// A compiler of this version, fetched if need be. A version without a commit stands for the release.
    pub(crate) async fn get(&self, wanted: &CompilerVersion) -> Result<Arc<Compiler>, CompilersError> {
        if let Some(compiler) = self.find_ready(wanted) {
            return Ok(compiler);
        }
        let _alone = self.fetching.lock().await;
        if let Some(compiler) = self.find_ready(wanted) {
            return Ok(compiler);
        }
        let program = match self.find_file(wanted).await? {
            Some(program) => program,
            None => self.fetch(wanted).await?,
        };
        let own = self.own_version(&program).await?;
        if !own.is(wanted) {
            return Err(match wanted.commit() {
                Some(_) if own.same_release(wanted) => VersionError::OtherCommit { wanted: wanted.clone(), own }.into(),
                _ => CompilersError::NotWhatItSays { path: program.path().to_owned(), wanted: wanted.clone(), own },
            });
        }
        let compiler = Arc::new(Compiler { version: own, program });
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.insert(wanted.clone(), Arc::clone(&compiler));
        Ok(compiler)
    }

    fn find_ready(&self, wanted: &CompilerVersion) -> Option<Arc<Compiler>> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        ready.get(wanted).filter(|compiler| compiler.program.path().is_file()).cloned()
    }

    async fn find_file(&self, wanted: &CompilerVersion) -> Result<Option<Found>, CompilersError> {
        let mut folders = vec![self.config.folder.clone()];
        if let CompilerSource::Folder(folder) = &self.config.source {
            folders.push(folder.clone());
        }
        let wanted = wanted.clone();
        let search = tokio::task::spawn_blocking(move || {
            folders.iter().find_map(|folder| folder::find(folder, &wanted).transpose()).transpose()
        });
        search.await.unwrap_or_else(|error| Err(CompilersError::Storage(std::io::Error::other(error))))
    }

    async fn fetch(&self, wanted: &CompilerVersion) -> Result<Found, CompilersError> {
        tracing::info!(version = %wanted, source = ?self.config.source, "fetching a compiler");
        match &self.config.source {
            CompilerSource::Npm => self.npm.fetch(wanted, &self.config.folder).await,
            CompilerSource::List(address) => list::fetch(address, wanted, &self.config.folder).await,
            CompilerSource::Folder(folder) => Err(unknown_in(&[&self.config.folder, folder], wanted).into()),
            CompilerSource::Offline => Err(unknown_in(&[&self.config.folder], wanted).into()),
        }
    }

    async fn own_version(&self, program: &Found) -> Result<CompilerVersion, CompilersError> {
        match program {
            Found::Soljson(path) => self.workers.version_of(path).await,
            Found::Native(path) => native::version_of(path).await,
        }
    }

    /// Runs a compiler on standard JSON input; gives its output as it is.
    pub(crate) async fn compile(&self, compiler: &Compiler, input: String) -> Result<String, CompileError> {
        match &compiler.program {
            Found::Soljson(path) => self.workers.compile(path, input).await,
            Found::Native(path) => native::compile(path, input, &self.config).await,
        }
    }
}

fn unknown_in(folders: &[&Path], wanted: &CompilerVersion) -> VersionError {
    let there: Vec<CompilerVersion> = folders.iter().flat_map(|folder| folder::versions(folder)).collect();
    VersionError::unknown(wanted, there)
}
