use std::{path::PathBuf, time::Duration};

use super::{idle::IdleLimits, usage::Limits};

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

    pub(super) fn limits(&self) -> Limits {
        Limits { time: self.time_limit, memory: self.memory_limit }
    }
}
