//! `explorer snapshot` and `explorer restore`: copies of a data folder.

use std::{fs, path::Path};

use anyhow::Context;
use webhooks::EncryptionKey;

use crate::{
    cli::{RestoreOptions, SnapshotOptions},
    config, logging, stores,
};

pub(crate) fn take(options: SnapshotOptions) -> anyhow::Result<()> {
    let (data, target) = (config::data_folder(options.data)?, options.target);
    let commit = stores::snapshot(&data, &target)?;
    let mut text = format!("Snapshot of {} at commit {commit}: {}\n", data.display(), target.display());
    if copy_key(&data, &target)? {
        text.push_str(
            "It contains keys, webhooks and the key of their secrets: keep it as private as the data folder.\n",
        );
    } else {
        text.push_str("The key of webhook secrets is not in the data folder: keep a copy of it, too.\n");
    }
    logging::print(&text);
    Ok(())
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

/// Whether there is one.
fn copy_key(data: &Path, target: &Path) -> anyhow::Result<bool> {
    let key = data.join(EncryptionKey::FILE);
    if !key.is_file() {
        return Ok(false);
    }
    let copied = fs::copy(&key, target.join(EncryptionKey::FILE)).and_then(|_| fs::File::open(target)?.sync_all());
    copied.with_context(|| format!("cannot copy {} to {}", key.display(), target.display()))?;
    Ok(true)
}
