//! A snapshot as a folder. Until it is complete, it has another name.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use store::Store;
use webhooks::EncryptionKey;

use super::{content::Content, unfinished::unfinished};

/// A database is no folder.
pub(crate) const OF_A_DATABASE: &str = "a database is backed up by its server: use pg_basebackup or pg_dump, and keep the key of webhook \
    secrets";

/// A new snapshot, as a running service is asked for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotCommand {
    /// Absolute, since the service has another working directory.
    pub(crate) target: PathBuf,
    pub(crate) content: Content,
}

/// Copies the open data folder to a new one. Returns the text to print.
pub(crate) async fn execute(store: &dyn Store, data: &Path, command: SnapshotCommand) -> anyhow::Result<String> {
    let SnapshotCommand { target, content } = command;
    ensure!(target.is_absolute(), "{} is not an absolute path", target.display());
    require_new(&target)?;
    let unfinished = unfinished(&target)?;
    let cannot_write = || format!("cannot write a snapshot to {}", target.display());
    remove(&unfinished).with_context(cannot_write)?;
    let taken = async {
        let (commit, has_key) = copy(store, data, &unfinished, content).await.with_context(cannot_write)?;
        place(&unfinished, &target).with_context(cannot_write)?;
        Ok((commit, has_key))
    };
    let (commit, has_key): (u64, bool) = taken.await.inspect_err(|_: &anyhow::Error| {
        // A part of a snapshot is of no use.
        let _ = remove(&unfinished);
    })?;
    let secrecy = content.secrecy(Some(has_key));
    Ok(format!("Snapshot of {} at commit {commit}: {}\n{secrecy}\n", data.display(), target.display()))
}

/// Copies the open data folder and the key of webhook secrets. Returns the number of the last commit, and whether the key is there.
pub(super) async fn copy(store: &dyn Store, data: &Path, into: &Path, content: Content) -> anyhow::Result<(u64, bool)> {
    let Some(commit) = store.snapshot(into, content.into()).await? else { bail!(OF_A_DATABASE) };
    let has_key = content == Content::Everything && copy_key(data, into)?;
    Ok((commit, has_key))
}

fn require_new(target: &Path) -> anyhow::Result<()> {
    let is_new = match fs::read_dir(target) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", target.display())),
    };
    if !is_new {
        bail!("{} is not empty: give a new folder", target.display());
    }
    Ok(())
}

fn place(unfinished: &Path, target: &Path) -> io::Result<()> {
    fs::File::open(unfinished)?.sync_all()?;
    fs::rename(unfinished, target)?;
    match target.parent() {
        Some(parent) => fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Whether there is one.
fn copy_key(data: &Path, to: &Path) -> anyhow::Result<bool> {
    let key = data.join(EncryptionKey::FILE);
    if !key.is_file() {
        return Ok(false);
    }
    let target = to.join(EncryptionKey::FILE);
    let copied = fs::copy(&key, &target).and_then(|_| fs::File::open(&target)?.sync_all());
    copied.with_context(|| format!("cannot copy {} to {}", key.display(), to.display()))?;
    Ok(true)
}
