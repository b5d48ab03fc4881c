//! The configuration file.

use std::path::Path;

use anyhow::Context;

use super::{run_options::RunOptions, values};
use crate::process::user_folders;

/// Fills missing options from the configuration file, if it exists.
pub(crate) fn with_file(options: RunOptions) -> anyhow::Result<RunOptions> {
    let file = match &options.config {
        Some(path) => Some(path.clone()),
        None => user_folders::config().map(|folder| folder.join("explorer/config.toml")).filter(|path| path.is_file()),
    };
    match file {
        Some(path) => {
            let read = read(&path)?;
            Ok(RunOptions { config: Some(path), ..options.or(read) })
        }
        None => Ok(options),
    }
}

pub(crate) fn read(path: &Path) -> anyhow::Result<RunOptions> {
    let text = values::read_text(path)?;
    toml::from_str(&text).with_context(|| format!("invalid configuration file {}", path.display()))
}
