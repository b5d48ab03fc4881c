//! The sources of compilers, behind one interface.

use std::path::Path;

use super::{
    CompilerVersion, CompilersError,
    config::{CompilerConfig, CompilerSource},
    folder::{CompilerFile, native_file, soljson_path},
    list::{BuildList, Program},
    npm::Npm,
    pinned,
};

#[derive(Debug)]
pub(super) enum Source {
    Npm(Npm),
    List(BuildList),
    /// Only compilers that are already on disk.
    Folders,
}

impl Source {
    pub(super) fn new(config: &CompilerConfig) -> Self {
        match &config.source {
            CompilerSource::Npm => Self::Npm(Npm::new(config.npm.clone())),
            CompilerSource::List(address) => Self::List(BuildList::new(address)),
            CompilerSource::Folder(_) | CompilerSource::Offline => Self::Folders,
        }
    }

    /// Builds of a release that can be downloaded. The commit may be unknown before the download.
    pub(super) async fn find(&self, release: &CompilerVersion) -> Result<Vec<CompilerVersion>, CompilersError> {
        match self {
            Self::Npm(npm) => Ok(npm.find(release).await),
            Self::List(list) => {
                Ok(list.all().await?.into_iter().filter(|version| version.same_release(release)).collect())
            }
            Self::Folders => Ok(Vec::new()),
        }
    }

    /// All builds that can be downloaded.
    pub(super) async fn all(&self) -> Result<Vec<CompilerVersion>, CompilersError> {
        match self {
            Self::Npm(npm) => Ok(npm.all().await),
            Self::List(list) => list.all().await,
            Self::Folders => Ok(Vec::new()),
        }
    }

    /// Why an existing release is not among them.
    pub(super) fn why_unavailable(&self, release: &CompilerVersion) -> Option<&'static str> {
        match self {
            Self::Npm(_) => pinned::why_unavailable(release),
            Self::List(_) | Self::Folders => None,
        }
    }

    /// Downloads a build; returns its destination path and its content.
    pub(super) async fn fetch(
        &self,
        build: &CompilerVersion,
        folder: &Path,
    ) -> Result<(CompilerFile, Vec<u8>), CompilersError> {
        match self {
            Self::Npm(npm) => Ok((CompilerFile::Soljson(soljson_path(folder, build)), npm.fetch(build, folder).await?)),
            Self::List(list) => Ok(match list.fetch(build).await? {
                Program::Soljson(content) => (CompilerFile::Soljson(soljson_path(folder, build)), content),
                Program::Native(content) => (native_file(folder, build), content),
            }),
            Self::Folders => Err(CompilersError::FetchFailed("no compiler source is configured".to_owned())),
        }
    }
}
