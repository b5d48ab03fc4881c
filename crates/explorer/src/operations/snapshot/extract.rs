//! Reads an archive that anybody may have made. Its files must be those of its manifest, in this order, and nothing else.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
};

use anyhow::{Context, anyhow, bail, ensure};
use tar::EntryType;

use super::{
    digest::{Digested, copy, hex},
    manifest::{self, ArchivedFile, Manifest},
};
use crate::stores::{self, Inspected};

/// What may follow the last file: programs fill an archive up to a multiple of some kilobytes.
const MAX_PADDING: u64 = 1 << 20;
const CUT_SHORT: &str = "it was cut short";

/// An archive that was read to its end.
#[derive(Debug)]
pub(crate) struct Extracted {
    pub(crate) manifest: Manifest,
    pub(crate) found: Inspected,
    /// Of the whole file.
    pub(crate) sha256: String,
}

pub(crate) fn open(file: &Path) -> anyhow::Result<File> {
    File::open(file).with_context(|| format!("cannot open {}", file.display()))
}

/// Writes the files of an archive to a new folder, and compares them with the manifest.
pub(crate) fn extract(from: &mut dyn Read, into: &Path) -> anyhow::Result<Extracted> {
    fs::create_dir_all(into).with_context(|| format!("cannot create {}", into.display()))?;
    let mut from = Digested::new(from);
    let manifest = extract_files(&mut from, &mut Folder(into))?;
    let padding = io::copy(&mut (&mut from).take(MAX_PADDING + 1), &mut io::sink()).map_err(unreadable)?;
    ensure!(padding <= MAX_PADDING, "it continues after its end");
    let found = stores::inspect(into)?;
    manifest.check(&found)?;
    Ok(Extracted { manifest, found, sha256: from.sha256() })
}

/// Where the files of an archive go.
pub(super) trait FileSink {
    /// Fails if there is not enough space.
    fn expect(&mut self, bytes: u64) -> anyhow::Result<()>;

    /// Writes a file that the manifest lists, and compares it.
    fn write(&mut self, from: &mut dyn Read, listed: &ArchivedFile) -> anyhow::Result<()>;
}

struct Folder<'a>(&'a Path);

pub(super) fn extract_files(from: &mut impl Read, into: &mut impl FileSink) -> anyhow::Result<Manifest> {
    let mut archive = tar::Archive::new(from);
    // Raw: extensions with long names, which may be of any size, are entries of their own, and refused.
    let mut entries = archive.entries().map_err(unreadable)?.raw(true);
    let mut next = || entries.next().transpose().map_err(unreadable);

    let first = next()?.context("it is empty")?;
    ensure!(*first.path_bytes() == *manifest::NAME.as_bytes(), "it is not a snapshot of an explorer");
    ensure!(first.size() <= manifest::MAX_BYTES, "its manifest is too long");
    let (size, mut text) = (first.size(), Vec::new());
    first.take(manifest::MAX_BYTES).read_to_end(&mut text).map_err(unreadable)?;
    ensure!(text.len() as u64 == size, CUT_SHORT);
    let manifest = Manifest::read(&text)?;
    into.expect(manifest.total_bytes().unwrap_or(u64::MAX))?;

    for file in &manifest.files {
        let mut entry = next()?.context(CUT_SHORT)?;
        let header = entry.header();
        let path = String::from_utf8_lossy(&entry.path_bytes()).escape_debug().to_string();
        ensure!(
            header.entry_type() == EntryType::Regular && path == file.path && entry.size() == file.bytes,
            "{path} is not what its manifest lists: {} with {} bytes",
            file.path,
            file.bytes
        );
        into.write(&mut entry, file)?;
    }
    ensure!(next()?.is_none(), "it has more files than its manifest lists");
    Ok(manifest)
}

impl FileSink for Folder<'_> {
    fn expect(&mut self, bytes: u64) -> anyhow::Result<()> {
        let free = free_bytes(self.0)?;
        ensure!(bytes <= free, "its files have {} MB, and the disk has {} MB free", bytes >> 20, free >> 20);
        Ok(())
    }

    fn write(&mut self, from: &mut dyn Read, listed: &ArchivedFile) -> anyhow::Result<()> {
        let target = self.0.join(&listed.path);
        let created = || -> io::Result<File> {
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            OpenOptions::new().write(true).create_new(true).open(&target)
        };
        let mut file = created().with_context(|| format!("cannot create {}", target.display()))?;
        copy_listed(from, &mut file, listed)?;
        file.sync_all().with_context(|| format!("cannot write {}", target.display()))
    }
}

pub(super) fn copy_listed(from: &mut dyn Read, to: &mut impl Write, listed: &ArchivedFile) -> anyhow::Result<()> {
    let ArchivedFile { path, bytes, sha256 } = listed;
    let (read, digest) = copy(from, to).with_context(|| format!("cannot read or write {path}"))?;
    ensure!(read == *bytes, CUT_SHORT);
    ensure!(hex(&digest) == *sha256, "the file {path} in it was altered: its checksum is another");
    Ok(())
}

fn unreadable(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => anyhow!(CUT_SHORT),
        // It quotes names of the archive, which may contain codes that a terminal obeys.
        _ => {
            anyhow!("{}", error.to_string().escape_debug()).context("it is not an archive, or was cut short or altered")
        }
    }
}

fn free_bytes(folder: &Path) -> anyhow::Result<u64> {
    match rustix::fs::statvfs(folder) {
        Ok(found) => Ok(found.f_bavail.saturating_mul(found.f_frsize)),
        Err(error) => bail!("cannot read the free space of {}: {error}", folder.display()),
    }
}
