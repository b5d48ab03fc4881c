//! Files of records, and the standard streams in their place.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::Path,
};

use anyhow::{Context, bail};

/// Longer lines are no records: sources of a contract are smaller.
const MAX_LINE_BYTES: u64 = 256 << 20;
const STANDARD: &str = "-";

/// A new file that only its owner can read, or standard output.
pub(super) struct Output {
    name: String,
    to: Box<dyn Write + Send>,
    file: Option<File>,
}

impl Output {
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        if name == STANDARD {
            return Ok(Self { name, to: Box::new(BufWriter::new(io::stdout())), file: None });
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).with_context(|| format!("cannot create {name}: give the name of a new file"))?;
        let to = Box::new(BufWriter::new(file.try_clone()?));
        Ok(Self { name, to, file: Some(file) })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.to.write_all(bytes).with_context(|| format!("cannot write to {}", self.name))
    }

    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let written = self.to.flush().and_then(|()| self.file.map_or(Ok(()), |file| file.sync_all()));
        written.with_context(|| format!("cannot write to {}", self.name))
    }
}

/// The lines of a file, with their numbers for messages.
pub(super) struct Input {
    pub(super) name: String,
    from: Box<dyn BufRead>,
    number: u64,
}

impl Input {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let from: Box<dyn BufRead> = if name == STANDARD {
            Box::new(BufReader::new(io::stdin()))
        } else {
            Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot open {name}"))?))
        };
        Ok(Self { name, from, number: 0 })
    }

    pub(super) fn next(&mut self) -> anyhow::Result<Option<String>> {
        let mut line = String::new();
        self.number += 1;
        let read = io::Read::take(&mut self.from, MAX_LINE_BYTES).read_line(&mut line);
        read.with_context(|| self.at("it cannot be read"))?;
        if line.len() as u64 == MAX_LINE_BYTES {
            bail!(self.at("it is too long"));
        }
        let line = line.trim_end();
        Ok((!line.is_empty()).then(|| line.to_owned()))
    }

    pub(super) fn at(&self, what: &str) -> String {
        format!("{}, line {}: {what}", self.name, self.number)
    }
}
