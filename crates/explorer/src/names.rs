//! The operator's names of addresses and exchanges, and the files that they come from.

use std::{path::PathBuf, sync::Arc};

use anyhow::{Context, bail};
use enrichment::{Dexes, Labels, OperatorNames};

use crate::config;

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
        Labels::parse(&config::read_text(path)?).with_context(|| format!("invalid labels file {}", path.display()))
    }

    fn read_dexes(&self) -> anyhow::Result<Dexes> {
        let entries = match &self.config {
            Some(path) => config::read_file(path)?.dex,
            None => Vec::new(),
        };
        config::dexes(&entries)
    }
}

/// Reads the files again while the service runs.
#[derive(Clone)]
pub(crate) struct NameReloader {
    files: NameFiles,
    names: Arc<OperatorNames>,
}

impl NameReloader {
    pub(crate) fn new(files: NameFiles, names: Arc<OperatorNames>) -> Self {
        Self { files, names }
    }

    /// Replaces all names, or none if a file is invalid. Returns what was read.
    pub(crate) fn reload(&self) -> anyhow::Result<String> {
        let NameFiles { labels: label_file, config } = &self.files;
        if label_file.is_none() && config.is_none() {
            bail!(
                "there is nothing to reload: the service was started without --labels and without a configuration file"
            );
        }
        let (labels, dexes) = (self.files.read_labels()?, self.files.read_dexes()?);
        let count = labels.len();
        self.names.replace(Arc::new(labels), Arc::new(dexes));
        tracing::info!(labels = count, "reloaded the names of addresses and exchanges");
        Ok(format!("reloaded: {count} names of addresses, and the names of exchanges\n"))
    }
}
