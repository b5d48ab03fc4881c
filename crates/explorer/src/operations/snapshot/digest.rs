//! Digests of files.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

const CHUNK_BYTES: usize = 1 << 20;

/// Returns the number of bytes and their digest.
pub(super) fn copy(mut from: impl Read, to: &mut impl Write) -> io::Result<(u64, [u8; 32])> {
    let (mut digest, mut bytes, mut chunk) = (Sha256::new(), 0, vec![0; CHUNK_BYTES]);
    loop {
        let read = match from.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let Some(part) = chunk.get(..read).filter(|part| !part.is_empty()) else { break };
        digest.update(part);
        to.write_all(part)?;
        bytes += read as u64;
    }
    Ok((bytes, digest.finalize().into()))
}

/// Computes the digest of what is read.
pub(super) struct Digested<R> {
    from: R,
    digest: Sha256,
}

impl<R: Read> Digested<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from, digest: Sha256::new() }
    }

    pub(super) fn sha256(self) -> String {
        hex(&self.digest.finalize())
    }
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        self.digest.update(into.get(..read).unwrap_or_default());
        Ok(read)
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
