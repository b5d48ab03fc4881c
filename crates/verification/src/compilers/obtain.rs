//! Resolves a version to a compiler on disk: one build is chosen before anything is downloaded, concurrent requests share
//! one download, and the compiler is run once to check its version.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use domain::Language;
use tokio::{sync::Semaphore, task::spawn_blocking};

use super::{
    CompilerVersion, CompilersError, VersionError,
    checksum::{self, Executable},
    config::{CompilerConfig, CompilerSource},
    disk_cache,
    folder::{self, CompilerFile},
    native,
    source::Source,
    vyper,
    workers::Workers,
};

/// How long a build that could not be downloaded is not tried again: any client can request it.
const RETRY_DELAY: Duration = Duration::from_secs(60);
/// Compilers that are downloaded concurrently.
const MAX_FETCHES: usize = 2;
/// A file may turn out to be mislabelled; then the choice is made again without it.
const MAX_CHOICES: usize = 4;

/// A compiler on disk whose version has been checked.
#[derive(Debug)]
pub(crate) struct Compiler {
    pub(crate) version: CompilerVersion,
    pub(super) program: CompilerFile,
}

/// The compilers on disk, and those that can be downloaded.
#[derive(Debug)]
pub(super) struct Inventory {
    pub(super) config: CompilerConfig,
    pub(super) workers: Workers,
    pub(super) source: Source,
    known: Mutex<Known>,
    fetching: Semaphore,
}

/// State of the compilers beyond the files in the folders.
#[derive(Debug, Default)]
struct Known {
    /// Compilers whose version has been checked. One with further references is in use.
    ready: BTreeMap<PathBuf, Arc<Compiler>>,
    /// The versions that files reported when they were run.
    reported: HashMap<PathBuf, CompilerVersion>,
    /// Files that are being checked, and must not be deleted.
    checking: Vec<PathBuf>,
    /// Downloaded as this version, but reported another one.
    mislabelled: BTreeMap<CompilerVersion, CompilerVersion>,
    failed_fetches: BTreeMap<CompilerVersion, Instant>,
    locks: BTreeMap<CompilerVersion, Arc<tokio::sync::Mutex<()>>>,
}

enum Choice {
    File(CompilerVersion, CompilerFile),
    Fetch(CompilerVersion),
}

impl Choice {
    fn build(&self) -> &CompilerVersion {
        match self {
            Self::File(build, _) | Self::Fetch(build) => build,
        }
    }
}

impl Inventory {
    pub(super) fn new(config: CompilerConfig) -> Self {
        Self {
            workers: Workers::new(&config),
            source: Source::new(&config),
            config,
            known: Mutex::default(),
            fetching: Semaphore::new(MAX_FETCHES),
        }
    }

    pub(super) async fn get(self: &Arc<Self>, wanted: &CompilerVersion) -> Result<Arc<Compiler>, CompilersError> {
        for _ in 0..MAX_CHOICES {
            if let Some(compiler) = self.find_ready(wanted) {
                disk_cache::touch(compiler.program.path());
                return Ok(compiler);
            }
            let choice = self.choose(wanted).await?;
            let inventory = Arc::clone(self);
            // Spawned, so that the download continues for other callers when this future is dropped.
            let task = tokio::spawn(async move { inventory.obtain(choice).await });
            task.await.unwrap_or_else(|error| Err(CompilersError::Storage(io::Error::other(error))))?;
        }
        Err(CompilersError::FetchFailed(format!("the files for {wanted} keep changing")))
    }

    /// All builds in the folders, by the version they reported if they were run.
    pub(super) async fn local(&self) -> Result<Vec<(CompilerVersion, CompilerFile)>, CompilersError> {
        let mut folders = vec![self.config.folder.clone()];
        if let CompilerSource::Folder(folder) = &self.config.source {
            folders.push(folder.clone());
        }
        let listed = spawn_blocking(move || folders.iter().map(|folder| folder::list(folder)).collect());
        let listed: io::Result<Vec<_>> = listed.await.map_err(io::Error::other).flatten();
        let mut local: Vec<(CompilerVersion, CompilerFile)> =
            listed.map_err(CompilersError::Storage)?.into_iter().flatten().collect();
        let known = self.known();
        for (version, found) in &mut local {
            if let Some(reported) = known.reported.get(found.path()) {
                *version = reported.clone();
            }
        }
        Ok(local)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find_ready(&self, wanted: &CompilerVersion) -> Option<Arc<Compiler>> {
        let known = self.known();
        known.ready.values().find(|one| one.version.satisfies(wanted) && one.program.path().is_file()).cloned()
    }

    /// Resolves a version to one build. Nothing is downloaded for a version that does not exist.
    async fn choose(&self, wanted: &CompilerVersion) -> Result<Choice, CompilersError> {
        let mut local = self.local().await?;
        if let Some(index) = local.iter().position(|(version, _)| version.satisfies(wanted)) {
            let (version, found) = local.swap_remove(index);
            return Ok(Choice::File(version, found));
        }
        let mut others: Vec<CompilerVersion> = local.iter().map(|(version, _)| version.clone()).collect();
        others.retain(|version| version.same_release(wanted));
        let mut builds = self.source.find(wanted).await?;
        {
            let known = self.known();
            if let Some((_, reported)) = builds.iter().find_map(|build| known.mislabelled.get_key_value(build)) {
                let why = format!("at the compiler source, the file of that name is {}", reported.short());
                return Err(VersionError::Unavailable { release: wanted.short(), why }.into());
            }
        }
        // A build without a known commit is among the local ones if any of its release is, with another commit.
        builds.retain(|build| build.commit().is_some() || others.is_empty());
        if let Some(index) = builds.iter().position(|build| build.satisfies(wanted)) {
            return Ok(Choice::Fetch(builds.swap_remove(index)));
        }
        others.append(&mut builds);
        if let Some(actual) = others.into_iter().next() {
            return Err(VersionError::OtherCommit { wanted: wanted.clone(), actual }.into());
        }
        if let Some(why) = self.source.why_unavailable(wanted) {
            return Err(VersionError::Unavailable { release: wanted.short(), why: why.to_owned() }.into());
        }
        let mut available: Vec<CompilerVersion> = local.into_iter().map(|(version, _)| version).collect();
        available.extend(self.source.all().await?);
        available.retain(CompilerVersion::is_release);
        if wanted.language() == Language::Vyper && available.iter().all(|one| one.language() != Language::Vyper) {
            return Err(CompilersError::Missing(no_vyper_advice(wanted)));
        }
        Err(VersionError::unknown(wanted, available).into())
    }

    /// Makes a build ready, or records that it is mislabelled.
    async fn obtain(&self, choice: Choice) -> Result<(), CompilersError> {
        let lock = Arc::clone(self.known().locks.entry(choice.build().clone()).or_default());
        let _guard = lock.lock().await;
        if self.find_ready(choice.build()).is_some() {
            return Ok(());
        }
        match choice {
            Choice::File(build, found) => {
                let _checking = self.mark_checking(found.path());
                let path = found.path().to_owned();
                let checked = spawn_blocking(move || checksum::check_stored(&path)).await;
                if let Err(error) = checked.map_err(io::Error::other).map_err(CompilersError::Storage).flatten() {
                    // The next request downloads it again.
                    self.discard(found.path());
                    return Err(error);
                }
                self.check(build, found).await
            }
            Choice::Fetch(build) => {
                let found = match self.fetch(&build).await {
                    Ok(found) => found,
                    Err(error) => {
                        if !matches!(error, CompilersError::Missing(_)) {
                            self.known().failed_fetches.insert(build, Instant::now());
                        }
                        return Err(error);
                    }
                };
                let _checking = self.mark_checking(found.path());
                self.check(build, found).await
            }
        }
    }

    /// Runs a compiler to check its version.
    async fn check(&self, build: CompilerVersion, found: CompilerFile) -> Result<(), CompilersError> {
        let reported = match &found {
            CompilerFile::Soljson(path) => self.workers.version_of(path).await,
            CompilerFile::Native(path) => native::version_of(path).await,
            CompilerFile::NativeVyper(path) => vyper::version_of_program(path).await,
            CompilerFile::VyperPackage(path) => vyper::version_of_package(path).await,
        };
        let reported = match reported {
            Ok(reported) => reported,
            Err(error) => {
                // A downloaded file that does not run is deleted; files of the operator are left alone.
                if !matches!(error, CompilersError::Run(super::CompileError::Missing(_))) {
                    self.discard(found.path());
                }
                return Err(error);
            }
        };
        if reported.same_release(&build) {
            let mut known = self.known();
            known.reported.insert(found.path().to_owned(), reported.clone());
            known.ready.insert(found.path().to_owned(), Arc::new(Compiler { version: reported, program: found }));
            return Ok(());
        }
        tracing::warn!(path = %found.path().display(), %reported, "compiler file is mislabelled");
        if disk_cache::is_fetched(found.path()) {
            self.discard(found.path());
            self.known().mislabelled.insert(build, reported);
        } else {
            self.known().reported.insert(found.path().to_owned(), reported);
        }
        Ok(())
    }

    async fn fetch(&self, build: &CompilerVersion) -> Result<CompilerFile, CompilersError> {
        let failed = self.known().failed_fetches.get(build).is_some_and(|at| at.elapsed() < RETRY_DELAY);
        if failed {
            return Err(CompilersError::FetchFailed(format!(
                "{build} could not be fetched a moment ago, try again later"
            )));
        }
        let _permit = self.fetching.acquire().await;
        tracing::info!(version = %build, source = ?self.config.source, "fetching a compiler");
        let folder = self.config.folder.clone();
        let tidied = spawn_blocking(move || {
            std::fs::create_dir_all(&folder)?;
            disk_cache::remove_leftovers(&folder)
        });
        tidied.await.map_err(io::Error::other).flatten().map_err(CompilersError::Storage)?;
        let (found, content) = self.source.fetch(build, &self.config.folder).await?;
        self.make_room(content.len() as u64).map_err(CompilersError::Storage)?;
        let (path, executable) = match &found {
            CompilerFile::Soljson(path) => (path.clone(), Executable::No),
            program => (program.path().to_owned(), Executable::Yes),
        };
        let stored = spawn_blocking(move || checksum::store(&path, &content, executable)).await;
        stored.map_err(io::Error::other).flatten().map_err(CompilersError::Storage)?;
        tracing::info!(version = %build, path = %found.path().display(), "compiler fetched");
        Ok(found)
    }

    /// Deletes unused compilers until there is room for one more.
    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let mut known = self.known();
        let in_use = |path: &Path| {
            known.checking.iter().any(|checked| checked == path)
                || known.ready.get(path).is_some_and(|compiler| Arc::strong_count(compiler) > 1)
        };
        let deleted = disk_cache::make_room(&self.config.folder, self.config.folder_bytes, bytes, in_use)?;
        for path in deleted {
            tracing::info!(path = %path.display(), "compiler deleted to make room");
            known.ready.remove(&path);
            known.reported.remove(&path);
        }
        Ok(())
    }

    /// Removes a downloaded file that is invalid.
    fn discard(&self, path: &Path) {
        if disk_cache::is_fetched(path) {
            let _ = checksum::remove(path);
        }
    }

    fn mark_checking<'a>(&'a self, path: &Path) -> CheckingGuard<'a> {
        self.known().checking.push(path.to_owned());
        CheckingGuard { inventory: self, path: path.to_owned() }
    }
}

fn no_vyper_advice(wanted: &CompilerVersion) -> String {
    let version = wanted.without_language();
    format!(
        "there is no Vyper compiler on this server. Its operator can add one to the folder compilers of the data folder, or to that \
         of --compiler-source: the file vyper.{version}.linux of Vyper's releases, or a Python environment vyper-{version} with \
         the package vyper"
    )
}

/// While this exists, the file is not deleted to make room.
struct CheckingGuard<'a> {
    inventory: &'a Inventory,
    path: PathBuf,
}

impl Drop for CheckingGuard<'_> {
    fn drop(&mut self) {
        let mut known = self.inventory.known();
        if let Some(index) = known.checking.iter().position(|path| *path == self.path) {
            known.checking.swap_remove(index);
        }
    }
}
