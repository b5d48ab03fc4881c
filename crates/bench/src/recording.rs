//! What the node answers about each block, as bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;

use hyper::body::Bytes;

/// Longer chains than this do not fit into memory beside the rest, at some 3 KB a transaction.
const MOST_IN_MEMORY: u64 = 1_500_000;

/// The answers to `eth_getBlockByNumber` with all transactions, and to `eth_getBlockReceipts`.
pub(crate) enum Recording {
    Memory {
        answers: Vec<[Bytes; 2]>,
    },
    /// In a file that is gone with the process. What was read or written of late is in the system's memory, so that on a
    /// machine with enough of it this is a copy slower than memory, not a disk slower.
    File {
        file: File,
        places: Vec<Place>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    start: u64,
    lengths: [u32; 2],
}

impl Recording {
    pub(crate) fn block(&self, number: u64) -> std::io::Result<Option<Bytes>> {
        self.answer(number, 0)
    }

    pub(crate) fn receipts(&self, number: u64) -> std::io::Result<Option<Bytes>> {
        self.answer(number, 1)
    }

    fn answer(&self, number: u64, which: usize) -> std::io::Result<Option<Bytes>> {
        let Ok(number) = usize::try_from(number) else { return Ok(None) };
        match self {
            Self::Memory { answers } => Ok(answers.get(number).map(|both| both[which].clone())),
            Self::File { file, places } => places.get(number).map(|place| place.read(file, which)).transpose(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Memory { answers } => answers.iter().flatten().map(|answer| answer.len() as u64).sum(),
            Self::File { places, .. } => places.iter().flat_map(|place| place.lengths).map(u64::from).sum(),
        }
    }

    pub(crate) fn place(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::File { .. } => "a file",
        }
    }
}

impl Place {
    fn read(self, file: &File, which: usize) -> std::io::Result<Bytes> {
        let before = if which == 0 { 0 } else { u64::from(self.lengths[0]) };
        let mut answer = vec![0; self.lengths[which] as usize];
        file.read_exact_at(&mut answer, self.start + before)?;
        Ok(answer.into())
    }
}

/// A recording on its way.
pub(crate) enum Recorder {
    Memory(Vec<[Bytes; 2]>),
    File { file: BufWriter<File>, places: Vec<Place>, end: u64 },
}

impl Recorder {
    pub(crate) fn new(transactions: u64) -> anyhow::Result<Self> {
        if transactions <= MOST_IN_MEMORY {
            return Ok(Self::Memory(Vec::new()));
        }
        Ok(Self::File { file: BufWriter::new(tempfile::tempfile()?), places: Vec::new(), end: 0 })
    }

    pub(crate) fn push(&mut self, block: Vec<u8>, receipts: Vec<u8>) -> anyhow::Result<()> {
        match self {
            Self::Memory(answers) => answers.push([block, receipts].map(Bytes::from)),
            Self::File { file, places, end } => {
                let lengths = [u32::try_from(block.len())?, u32::try_from(receipts.len())?];
                places.push(Place { start: *end, lengths });
                file.write_all(&block)?;
                file.write_all(&receipts)?;
                *end += lengths.map(u64::from).iter().sum::<u64>();
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> anyhow::Result<Recording> {
        Ok(match self {
            Self::Memory(answers) => Recording::Memory { answers },
            Self::File { file, places, .. } => Recording::File { file: file.into_inner()?, places },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(transactions: u64) -> Recording {
        let mut recorder = Recorder::new(transactions).unwrap();
        recorder.push(b"first".to_vec(), b"its receipts".to_vec()).unwrap();
        recorder.push(b"second".to_vec(), Vec::new()).unwrap();
        recorder.finish().unwrap()
    }

    #[test]
    fn a_recording_gives_back_what_went_in_wherever_it_is_kept() {
        for recording in [recorded(2), recorded(MOST_IN_MEMORY + 1)] {
            assert_eq!(recording.block(0).unwrap().unwrap(), "first");
            assert_eq!(recording.receipts(0).unwrap().unwrap(), "its receipts");
            assert_eq!(recording.block(1).unwrap().unwrap(), "second");
            assert_eq!(recording.receipts(1).unwrap().unwrap(), "");
            assert!(recording.block(2).unwrap().is_none());
            assert_eq!(recording.bytes(), 23);
        }
    }
}
