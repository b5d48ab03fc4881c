//! The operator's names of addresses and exchanges, and the files that they come from.

use std::path::PathBuf;

use anyhow::Context;
use enrichment::{DexEntry, Dexes, Labels};

use super::{options::options, values};

options! {
    /// Names of addresses and exchanges.
    pub(crate) struct NameOptions {
        /// A file of names for addresses, one `0xaddress,name` per line
        #[arg(long, env = "EXPLORER_LABELS", value_name = "FILE")]
        pub(crate) labels: Option<PathBuf>,
    }
    only in the file {
        /// Names of exchanges by factory address: `[[dex]]` with `name` and `factory`.
        pub(crate) dex: Vec<DexEntry>,
    }
}

/// The operator's names, and where they are read again on request.
#[derive(Debug)]
pub(crate) struct NamesConfig {
    pub(crate) labels: Labels,
    pub(crate) dexes: Dexes,
    pub(crate) files: NameFiles,
}

/// The files with names; None if the operator gave none.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameFiles {
    /// Names of addresses.
    pub(crate) labels: Option<PathBuf>,
    /// The configuration file, which may have names of exchanges.
    pub(crate) config: Option<PathBuf>,
}

impl NameFiles {
    pub(crate) fn read_labels(&self) -> anyhow::Result<Labels> {
        let Some(path) = &self.labels else { return Ok(Labels::default()) };
        Labels::parse(&values::read_text(path)?).with_context(|| format!("invalid labels file {}", path.display()))
    }
}

impl NameOptions {
    pub(super) fn config(self, config_file: Option<PathBuf>) -> anyhow::Result<NamesConfig> {
        let files = NameFiles { labels: self.labels, config: config_file };
        Ok(NamesConfig { labels: files.read_labels()?, dexes: dexes(&self.dex)?, files })
    }
}

pub(crate) fn dexes(entries: &[DexEntry]) -> anyhow::Result<Dexes> {
    Dexes::with(entries).context("invalid [[dex]] entries in the configuration file")
}
