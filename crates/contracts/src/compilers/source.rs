//! The places where compilers come from, each asked in the same way.

use std::path::Path;

use super::{
    CompilerConfig, CompilerSource, CompilerVersion, CompilersError,
    folder::{Found, place_of_native, place_of_soljson},
    list::{BuildList, Program},
    npm::Npm,
    pinned,
};

#[derive(Debug)]
pub(super) enum Source {
    Npm(Npm),
    List(BuildList),
    /// Whatever is in the folders is all there is.
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

    /// Builds of a release that can be fetched. One without a commit is not known better before it is.
    pub(super) async fn find(&self, release: &CompilerVersion) -> Result<Vec<CompilerVersion>, CompilersError> {
        match self {
            Self::Npm(npm) => Ok(npm.find(release).await),
            Self::List(list) => {
                Ok(list.all().await?.into_iter().filter(|version| version.same_release(release)).collect())
            }
            Self::Folders => Ok(Vec::new()),
        }
    }

    /// All builds that can be fetched.
    pub(super) async fn all(&self) -> Result<Vec<CompilerVersion>, CompilersError> {
        match self {
            Self::Npm(npm) => Ok(npm.all().await),
            Self::List(list) => list.all().await,
            Self::Folders => Ok(Vec::new()),
        }
    }

    /// Why a release that exists is not among them.
    pub(super) fn why_lacking(&self, release: &CompilerVersion) -> Option<&'static str> {
        match self {
            Self::Npm(_) => pinned::why_lacking(release),
            Self::List(_) | Self::Folders => None,
        }
    }

    /// Fetches a build; gives where it belongs, and its bytes.
    pub(super) async fn fetch(
        &self,
        build: &CompilerVersion,
        folder: &Path,
    ) -> Result<(Found, Vec<u8>), CompilersError> {
        match self {
            Self::Npm(npm) => Ok((Found::Soljson(place_of_soljson(folder, build)), npm.fetch(build, folder).await?)),
            Self::List(list) => Ok(match list.fetch(build).await? {
                Program::Soljson(content) => (Found::Soljson(place_of_soljson(folder, build)), content),
                Program::Native(content) => (Found::Native(place_of_native(folder, build)), content),
            }),
            Self::Folders => Err(CompilersError::Unfetched("there is nowhere to fetch compilers from".to_owned())),
        }
    }
}
