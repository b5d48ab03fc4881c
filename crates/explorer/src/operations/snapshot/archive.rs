//! A snapshot as one file: a tar archive with a manifest first. Tables are compressed by the store already.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};
use store::Store;
use tar::{Builder, EntryType, Header};

use super::{
    content::Content,
    digest::{Digested, copy, hex},
    folder,
    manifest::{self, ArchivedFile, Manifest},
};
use crate::stores;

const BLOCK_BYTES: u64 = 512;

/// A new archive, as a running service is asked for it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ArchiveCommand {
    pub(crate) content: Content,
}

/// A snapshot beside the index, which is sent as one file. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Archive {
    folder: Staged,
    /// Of the file with this text.
    manifest: Vec<u8>,
    files: Vec<ArchivedFile>,
}

#[derive(Debug)]
struct Staged(PathBuf);

impl Drop for Staged {
    fn drop(&mut self) {
        // Otherwise it is removed when the data folder is opened.
        let _ = folder::remove(&self.0);
    }
}

impl Archive {
    /// Takes a snapshot of an open store, and reads all of it for its checksums.
    pub(crate) async fn prepare(store: &dyn Store, data: &Path, content: Content) -> anyhow::Result<Self> {
        let staged = Staged(data.join(stores::ARCHIVED));
        folder::remove(&staged.0)?;
        folder::copy(store, data, &staged.0, content).await.context("cannot take a snapshot")?;
        tokio::task::spawn_blocking(move || Self::of(staged, content)).await?
    }

    fn of(folder: Staged, content: Content) -> anyhow::Result<Self> {
        let found = stores::inspect(&folder.0)?;
        let mut paths = Vec::new();
        list(&folder.0, "", &mut paths)?;
        paths.sort_unstable();
        let files = paths.into_iter().map(|path| {
            let (bytes, digest) = copy(File::open(folder.0.join(&path))?, &mut io::sink())?;
            Ok(ArchivedFile { path, bytes, sha256: hex(&digest) })
        });
        let files = files.collect::<io::Result<Vec<_>>>()?;
        let manifest = serde_json::to_vec_pretty(&Manifest::new(content, &found, files.clone()))?;
        Ok(Self { folder, manifest, files })
    }

    /// The size of the file.
    pub(crate) fn bytes(&self) -> u64 {
        let entry = |bytes: u64| BLOCK_BYTES + bytes.next_multiple_of(BLOCK_BYTES);
        let files: u64 = self.files.iter().map(|file| entry(file.bytes)).sum();
        entry(self.manifest.len() as u64) + files + 2 * BLOCK_BYTES
    }

    pub(crate) fn write_to(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut archive = Builder::new(out);
        let header = header(manifest::NAME, self.manifest.len() as u64)?;
        archive.append(&header, self.manifest.as_slice())?;
        for ArchivedFile { path, bytes, sha256 } in &self.files {
            let mut file = Digested::new(File::open(self.folder.0.join(path))?);
            archive.append(&self::header(path, *bytes)?, (&mut file).take(*bytes))?;
            ensure!(file.sha256() == *sha256, "{path} changed while it was read");
        }
        archive.finish()?;
        Ok(())
    }
}

pub(super) fn header(path: &str, bytes: u64) -> io::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_path(path)?;
    header.set_entry_type(EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(0);
    header.set_cksum();
    Ok(header)
}

/// The files below a folder, relative to it.
fn list(folder: &Path, prefix: &str, paths: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder.join(prefix))? {
        let entry = entry?;
        let name = entry.file_name().into_string().ok().context("a file of the snapshot has an invalid name")?;
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if entry.file_type()?.is_dir() {
            list(folder, &path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}
