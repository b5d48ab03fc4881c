//! The file of a new archive, or standard output.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use crate::{
    operations::snapshot::{hex, unfinished::unfinished},
    terminal::progress_bar::{ProgressBar, Unit},
};

/// In place of a path.
pub(super) const STANDARD: &str = "-";

pub(super) struct Output {
    to: Destination,
    digest: Sha256,
    bytes: u64,
    bar: ProgressBar,
}

enum Destination {
    Standard(io::Stdout),
    File(Unfinished),
}

/// A file that has another name until it is complete. Removed when dropped before.
struct Unfinished {
    file: BufWriter<File>,
    path: PathBuf,
    target: PathBuf,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It was renamed, or is of no use.
        let _ = fs::remove_file(&self.path);
    }
}

impl Output {
    pub(super) fn create(target: &Path) -> anyhow::Result<Self> {
        let to = if target.as_os_str() == STANDARD {
            Destination::Standard(io::stdout())
        } else {
            if target.exists() {
                bail!("{} exists: give the name of a new file", target.display());
            }
            let path = unfinished(target)?;
            // Of an attempt that was killed. A new file, since others may be able to put a link in its place.
            let _ = fs::remove_file(&path);
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            let file = file.with_context(|| format!("cannot create {}", path.display()))?;
            Destination::File(Unfinished { file: BufWriter::new(file), path, target: target.to_owned() })
        };
        Ok(Self { to, digest: Sha256::new(), bytes: 0, bar: ProgressBar::new(0, Unit::Bytes) })
    }

    /// For the progress.
    pub(super) fn expect(&self, bytes: u64) {
        self.bar.set_length(bytes);
    }

    pub(super) fn write_part(&mut self, part: &[u8], total: Option<u64>) -> anyhow::Result<()> {
        if let Some(total) = total.filter(|_| self.bytes == 0) {
            self.expect(total);
        }
        self.write_all(part).context("cannot write the snapshot")
    }

    /// Returns the text to print.
    pub(super) fn finish(mut self) -> anyhow::Result<String> {
        self.flush().context("cannot write the snapshot")?;
        self.bar.finish_and_clear();
        let name = match &self.to {
            Destination::Standard(_) => "standard output".to_owned(),
            Destination::File(Unfinished { file, path, target }) => {
                let synced = file.get_ref().sync_all().and_then(|()| fs::rename(path, target));
                synced.with_context(|| format!("cannot write {}", target.display()))?;
                target.display().to_string()
            }
        };
        Ok(format!("Snapshot: {name}, {} bytes\nSHA-256: {}\n", self.bytes, hex(&self.digest.finalize())))
    }
}

impl Write for Output {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            Destination::Standard(out) => out.write(part)?,
            Destination::File(unfinished) => unfinished.file.write(part)?,
        };
        self.digest.update(part.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        self.bar.set_position(self.bytes);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            Destination::Standard(out) => out.flush(),
            Destination::File(unfinished) => unfinished.file.flush(),
        }
    }
}
