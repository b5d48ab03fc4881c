//! `explorer snapshot` and `explorer restore`: copies of a data folder, of a running service or of a stopped one.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use store::Store;
use webhooks::EncryptionKey;

use crate::{
    admin,
    cli::{RestoreOptions, SnapshotOptions},
    config::{self, Location, Target},
    logging, stores,
};

/// A database is no folder.
const OF_A_DATABASE: &str = "a database is backed up by its server: use pg_basebackup or pg_dump, and keep the key of webhook \
    secrets";

/// A new snapshot, as a running service is asked for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotCommand {
    /// Absolute, since the service has another working directory.
    pub(crate) target: PathBuf,
}

pub(crate) async fn take(options: SnapshotOptions) -> anyhow::Result<()> {
    let target = std::path::absolute(&options.target).context("invalid TARGET")?;
    let text = match config::target(options.from).await? {
        Target::Running(client) => client.post(admin::SNAPSHOT, &SnapshotCommand { target }).await?,
        Target::Stored(Location::Database { .. }) => bail!(OF_A_DATABASE),
        Target::Stored(Location::Folder(data)) => {
            let store = stores::open_to_snapshot(&data)?;
            execute(store.as_ref(), &data, SnapshotCommand { target }).await?
        }
    };
    logging::print(&text);
    Ok(())
}

/// Copies the open data folder to a new one. Until it is complete, the copy has another name. Returns the text to print.
pub(crate) async fn execute(store: &dyn Store, data: &Path, command: SnapshotCommand) -> anyhow::Result<String> {
    let SnapshotCommand { target } = command;
    require_new(&target)?;
    let unfinished = unfinished(&target)?;
    let cannot_write = || format!("cannot write a snapshot to {}", target.display());
    remove(&unfinished).with_context(cannot_write)?;
    let taken = async {
        let Some(commit) = store.snapshot(&unfinished).await.with_context(cannot_write)? else { bail!(OF_A_DATABASE) };
        let has_key = copy_key(data, &unfinished)?;
        place(&unfinished, &target).with_context(cannot_write)?;
        Ok((commit, has_key))
    };
    let (commit, has_key) = taken.await.inspect_err(|_| {
        // A part of a snapshot is of no use.
        let _ = remove(&unfinished);
    })?;
    let secrecy = if has_key {
        "It contains keys, webhooks and the key of their secrets: keep it as private as the data folder."
    } else {
        "The key of webhook secrets is not in the data folder: keep a copy of it, too."
    };
    Ok(format!("Snapshot of {} at commit {commit}: {}\n{secrecy}\n", data.display(), target.display()))
}

pub(crate) fn restore(options: RestoreOptions) -> anyhow::Result<()> {
    let (data, snapshot) = (config::data_folder(options.data)?, options.snapshot);
    stores::restore(&snapshot, &data)?;
    logging::print(&format!(
        "Restored {} to {}.\nMessages of webhooks that were sent after the snapshot are sent again, with the same ids.\n\
         Next: explorer run --rpc <your node> --data {}\n",
        snapshot.display(),
        data.display(),
        data.display()
    ));
    Ok(())
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

/// The name of a snapshot until it is complete.
fn unfinished(target: &Path) -> anyhow::Result<PathBuf> {
    let Some(name) = target.file_name() else { bail!("{} cannot be created: give a new folder", target.display()) };
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(".unfinished-snapshot");
    Ok(target.with_file_name(hidden))
}

fn place(unfinished: &Path, target: &Path) -> io::Result<()> {
    fs::File::open(unfinished)?.sync_all()?;
    fs::rename(unfinished, target)?;
    match target.parent() {
        Some(parent) => fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn remove(folder: &Path) -> io::Result<()> {
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
