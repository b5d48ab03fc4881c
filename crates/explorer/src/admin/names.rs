//! Reads the operator's names of addresses and exchanges again while the service runs.

use std::sync::Arc;

use anyhow::bail;
use enrichment::{Dexes, OperatorNames};

use crate::config::{
    file,
    names::{self, NameFiles},
};

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
        let (labels, dexes) = (self.files.read_labels()?, self.read_dexes()?);
        let count = labels.len();
        self.names.replace(Arc::new(labels), Arc::new(dexes));
        tracing::info!(labels = count, "reloaded the names of addresses and exchanges");
        Ok(format!("reloaded: {count} names of addresses, and the names of exchanges\n"))
    }
    fn read_dexes(&self) -> anyhow::Result<Dexes> {
        let entries = match &self.files.config {
            Some(path) => file::read(path)?.names.dex,
            None => Vec::new(),
        };
        names::dexes(&entries)
    }
}
