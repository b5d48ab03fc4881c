use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::bail;

/// The name of a snapshot until it is complete.
pub(crate) fn unfinished(target: &Path) -> anyhow::Result<PathBuf> {
    let Some(name) = target.file_name() else { bail!("{} cannot be created: give a new name", target.display()) };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".unfinished-snapshot");
    Ok(target.with_file_name(hidden))
}
