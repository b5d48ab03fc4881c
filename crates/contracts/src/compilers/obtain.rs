//! From a version that somebody names to a compiler at hand: one known build is chosen before anything is fetched, it is
//! fetched once whoever waits for it, and it is run once to hear what it is.

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::task::spawn_blocking;

use super::{
    Compiler, CompilerSource, CompilerVersion, CompilersError, Shared, VersionError,
    checksum::{self, Executable},
    folder::{self, Found},
    native, shelf,
};

/// A build that could not be fetched is not tried again so long: strangers ask for it as often as they like.
const PAUSE: Duration = Duration::from_secs(60);
/// A choice may turn out wrong, and be made again with what was learned: the folder's, the operator's, the source's.
const CHOICES: usize = 4;

/// What is known of compilers beside what lies in the folders.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Those that were run and are what they are called. One that is held elsewhere too is in use.
    ready: BTreeMap<PathBuf, Arc<Compiler>>,
    /// What files turned out to be that were run.
    own: HashMap<PathBuf, CompilerVersion>,
    /// Files that are being checked.
    checking: Vec<PathBuf>,
    /// Fetched under this version, and found to be another one.
    mislabelled: BTreeMap<CompilerVersion, CompilerVersion>,
    failed: BTreeMap<CompilerVersion, Instant>,
    locks: BTreeMap<CompilerVersion, Arc<tokio::sync::Mutex<()>>>,
}

enum Choice {
    File(CompilerVersion, Found),
    Fetch(CompilerVersion),
}

impl Choice {
    fn build(&self) -> &CompilerVersion {
        match self {
            Self::File(build, _) | Self::Fetch(build) => build,
        }
    }
}

impl Shared {
    pub(super) async fn get(self: &Arc<Self>, wanted: &CompilerVersion) -> Result<Arc<Compiler>, CompilersError> {
        for _ in 0..CHOICES {
            if let Some(compiler) = self.find_ready(wanted) {
                shelf::touch(compiler.program.path());
                return Ok(compiler);
            }
            let choice = self.choose(wanted).await?;
            let shared = Arc::clone(self);
            // A task of its own: whoever asks may leave, and others wait for the same build.
            let task = tokio::spawn(async move { shared.obtain(choice).await });
            task.await.unwrap_or_else(|error| Err(CompilersError::Storage(io::Error::other(error))))?;
        }
        Err(CompilersError::Unfetched(format!("the files for {wanted} change all the time")))
    }

    /// All builds in the folders, by what they turned out to be where they were run.
    pub(super) async fn local(&self) -> Result<Vec<(CompilerVersion, Found)>, CompilersError> {
        let mut folders = vec![self.config.folder.clone()];
        if let CompilerSource::Folder(folder) = &self.config.source {
            folders.push(folder.clone());
        }
        let listed = spawn_blocking(move || folders.iter().map(|folder| folder::list(folder)).collect());
        let listed: io::Result<Vec<_>> = listed.await.map_err(io::Error::other).flatten();
        let mut local: Vec<(CompilerVersion, Found)> =
            listed.map_err(CompilersError::Storage)?.into_iter().flatten().collect();
        let known = self.known();
        for (version, found) in &mut local {
            if let Some(own) = known.own.get(found.path()) {
                *version = own.clone();
            }
        }
        Ok(local)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find_ready(&self, wanted: &CompilerVersion) -> Option<Arc<Compiler>> {
        let known = self.known();
        known.ready.values().find(|one| one.version.is(wanted) && one.program.path().is_file()).cloned()
    }

    /// The one build that a version means. Nothing is fetched for one that does not exist.
    async fn choose(&self, wanted: &CompilerVersion) -> Result<Choice, CompilersError> {
        let mut local = self.local().await?;
        if let Some(place) = local.iter().position(|(version, _)| version.is(wanted)) {
            let (version, found) = local.swap_remove(place);
            return Ok(Choice::File(version, found));
        }
        let mut others: Vec<CompilerVersion> = local.iter().map(|(version, _)| version.clone()).collect();
        others.retain(|version| version.same_release(wanted));
        let mut builds = self.source.find(wanted).await?;
        {
            let known = self.known();
            if let Some((_, own)) = builds.iter().find_map(|build| known.mislabelled.get_key_value(build)) {
                let why = format!("where its compilers come from, the file of that name holds {}", own.short());
                return Err(VersionError::NotOffered { release: wanted.short(), why }.into());
            }
        }
        // One whose commit nobody knows before it is fetched has been fetched, and has another.
        builds.retain(|build| build.commit().is_some() || others.is_empty());
        if let Some(place) = builds.iter().position(|build| build.is(wanted)) {
            return Ok(Choice::Fetch(builds.swap_remove(place)));
        }
        others.append(&mut builds);
        if let Some(own) = others.into_iter().next() {
            return Err(VersionError::OtherCommit { wanted: wanted.clone(), own }.into());
        }
        if let Some(why) = self.source.why_lacking(wanted) {
            return Err(VersionError::NotOffered { release: wanted.short(), why: why.to_owned() }.into());
        }
        let mut there: Vec<CompilerVersion> = local.into_iter().map(|(version, _)| version).collect();
        there.extend(self.source.all().await?);
        there.retain(CompilerVersion::is_release);
        Err(VersionError::unknown(wanted, there).into())
    }

    /// Gets a build ready, or notes why it is not what it is called.
    async fn obtain(&self, choice: Choice) -> Result<(), CompilersError> {
        let lock = Arc::clone(self.known().locks.entry(choice.build().clone()).or_default());
        let _alone = lock.lock().await;
        if self.find_ready(choice.build()).is_some() {
            return Ok(());
        }
        match choice {
            Choice::File(build, found) => {
                let _kept = self.keep_from_deletion(found.path());
                let path = found.path().to_owned();
                let checked = spawn_blocking(move || checksum::check_kept(&path)).await;
                if let Err(error) = checked.map_err(io::Error::other).map_err(CompilersError::Storage).flatten() {
                    // The next one who asks has it fetched again.
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
                            self.known().failed.insert(build, Instant::now());
                        }
                        return Err(error);
                    }
                };
                let _kept = self.keep_from_deletion(found.path());
                self.check(build, found).await
            }
        }
    }

    /// Runs a compiler to hear what it is.
    async fn check(&self, build: CompilerVersion, found: Found) -> Result<(), CompilersError> {
        let own = match &found {
            Found::Soljson(path) => self.workers.version_of(path).await,
            Found::Native(path) => native::version_of(path).await,
        };
        let own = match own {
            Ok(own) => own,
            Err(error) => {
                // A file that does not run is no use; the operator's own is for him to mend.
                if !matches!(error, CompilersError::Run(super::CompileError::Missing(_))) {
                    self.discard(found.path());
                }
                return Err(error);
            }
        };
        if own.same_release(&build) {
            let mut known = self.known();
            known.own.insert(found.path().to_owned(), own.clone());
            known.ready.insert(found.path().to_owned(), Arc::new(Compiler { version: own, program: found }));
            return Ok(());
        }
        tracing::warn!(path = %found.path().display(), says = %own, "a compiler is not what it is called");
        if shelf::is_fetched(found.path()) {
            self.discard(found.path());
            self.known().mislabelled.insert(build, own);
        } else {
            self.known().own.insert(found.path().to_owned(), own);
        }
        Ok(())
    }

    async fn fetch(&self, build: &CompilerVersion) -> Result<Found, CompilersError> {
        let failed = self.known().failed.get(build).is_some_and(|at| at.elapsed() < PAUSE);
        if failed {
            return Err(CompilersError::Unfetched(format!("{build} could not be fetched a short while ago")));
        }
        let _turn = self.fetching.acquire().await;
        tracing::info!(version = %build, source = ?self.config.source, "fetching a compiler");
        let folder = self.config.folder.clone();
        let tidied = spawn_blocking(move || {
            std::fs::create_dir_all(&folder)?;
            shelf::tidy(&folder)
        });
        tidied.await.map_err(io::Error::other).flatten().map_err(CompilersError::Storage)?;
        let (found, content) = self.source.fetch(build, &self.config.folder).await?;
        self.make_room(content.len() as u64).map_err(CompilersError::Storage)?;
        let (path, executable) = match &found {
            Found::Soljson(path) => (path.clone(), Executable::No),
            Found::Native(path) => (path.clone(), Executable::Yes),
        };
        let kept = spawn_blocking(move || checksum::keep(&path, &content, executable)).await;
        kept.map_err(io::Error::other).flatten().map_err(CompilersError::Storage)?;
        tracing::info!(version = %build, path = %found.path().display(), "compiler fetched");
        Ok(found)
    }

    /// Deletes compilers that nobody uses until there is room for one more.
    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let mut known = self.known();
        let in_use = |path: &Path| {
            known.checking.iter().any(|checked| checked == path)
                || known.ready.get(path).is_some_and(|compiler| Arc::strong_count(compiler) > 1)
        };
        let deleted = shelf::make_room(&self.config.folder, self.config.folder_bytes, bytes, in_use)?;
        for path in deleted {
            tracing::info!(path = %path.display(), "a compiler was deleted to make room");
            known.ready.remove(&path);
            known.own.remove(&path);
        }
        Ok(())
    }

    /// Removes a fetched file that turned out bad.
    fn discard(&self, path: &Path) {
        if shelf::is_fetched(path) {
            let _ = checksum::remove(path);
        }
    }

    fn keep_from_deletion<'a>(&'a self, path: &Path) -> Checking<'a> {
        self.known().checking.push(path.to_owned());
        Checking { shared: self, path: path.to_owned() }
    }
}

/// As long as this is there, a file is not deleted to make room.
struct Checking<'a> {
    shared: &'a Shared,
    path: PathBuf,
}

impl Drop for Checking<'_> {
    fn drop(&mut self) {
        let mut known = self.shared.known();
        if let Some(place) = known.checking.iter().position(|path| *path == self.path) {
            known.checking.swap_remove(place);
        }
    }
}
