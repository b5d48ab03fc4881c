//! The recorded JSON-RPC results for each block.

use std::{
    fs::File,
    io::{BufWriter, Write},
    os::unix::fs::FileExt,
};

use hyper::body::Bytes;

/// Longer chains are recorded to a file: at about 3 KB per transaction they do not fit in memory.
const MAX_IN_MEMORY: u64 = 1_500_000;

/// The results of `eth_getBlockByNumber` with full transactions and of `eth_getBlockReceipts`.
pub(crate) enum Recording {
    Memory {
        results: Vec<[Bytes; 2]>,
    },
    /// In a temporary file. With enough memory it stays in the page cache, so reads cost a copy but no disk access.
    File {
        file: File,
        ranges: Vec<FileRange>,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct FileRange {
    start: u64,
    lengths: [u32; 2],
}

/// One of the two results that are recorded for a block.
#[derive(Debug, Clone, Copy)]
enum Which {
    Block,
    Receipts,
}

impl Which {
    fn of<T>(self, [block, receipts]: &[T; 2]) -> &T {
        match self {
            Self::Block => block,
            Self::Receipts => receipts,
        }
    }
}

impl Recording {
    pub(crate) fn block(&self, number: u64) -> std::io::Result<Option<Bytes>> {
        self.result(number, Which::Block)
    }

    pub(crate) fn receipts(&self, number: u64) -> std::io::Result<Option<Bytes>> {
        self.result(number, Which::Receipts)
    }

    fn result(&self, number: u64, which: Which) -> std::io::Result<Option<Bytes>> {
        let Ok(number) = usize::try_from(number) else { return Ok(None) };
        match self {
            Self::Memory { results } => Ok(results.get(number).map(|both| which.of(both).clone())),
            Self::File { file, ranges } => ranges.get(number).map(|range| range.read(file, which)).transpose(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Memory { results } => results.iter().flatten().map(|result| result.len() as u64).sum(),
            Self::File { ranges, .. } => ranges.iter().flat_map(|range| range.lengths).map(u64::from).sum(),
        }
    }

    pub(crate) fn storage(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory",
            Self::File { .. } => "a file",
        }
    }
}

impl FileRange {
    fn read(self, file: &File, which: Which) -> std::io::Result<Bytes> {
        let [of_block, _] = self.lengths;
        let before = match which {
            Which::Block => 0,
            Which::Receipts => u64::from(of_block),
        };
        let mut result = vec![0; *which.of(&self.lengths) as usize];
        file.read_exact_at(&mut result, self.start + before)?;
        Ok(result.into())
    }
}

/// A recording in progress.
pub(crate) enum Recorder {
    Memory(Vec<[Bytes; 2]>),
    File { file: BufWriter<File>, ranges: Vec<FileRange>, end: u64 },
}

impl Recorder {
    pub(crate) fn new(transactions: u64) -> anyhow::Result<Self> {
        if transactions <= MAX_IN_MEMORY {
            return Ok(Self::Memory(Vec::new()));
        }
        Ok(Self::File { file: BufWriter::new(tempfile::tempfile()?), ranges: Vec::new(), end: 0 })
    }

    pub(crate) fn push(&mut self, block: Vec<u8>, receipts: Vec<u8>) -> anyhow::Result<()> {
        match self {
            Self::Memory(results) => results.push([block, receipts].map(Bytes::from)),
            Self::File { file, ranges, end } => {
                let lengths = [u32::try_from(block.len())?, u32::try_from(receipts.len())?];
                ranges.push(FileRange { start: *end, lengths });
                file.write_all(&block)?;
                file.write_all(&receipts)?;
                *end += lengths.map(u64::from).iter().sum::<u64>();
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> anyhow::Result<Recording> {
        Ok(match self {
            Self::Memory(results) => Recording::Memory { results },
            Self::File { file, ranges, .. } => Recording::File { file: file.into_inner()?, ranges },
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
    fn a_recording_returns_what_was_pushed_in_memory_and_in_a_file() {
        for recording in [recorded(2), recorded(MAX_IN_MEMORY + 1)] {
            assert_eq!(recording.block(0).unwrap().unwrap(), "first");
            assert_eq!(recording.receipts(0).unwrap().unwrap(), "its receipts");
            assert_eq!(recording.block(1).unwrap().unwrap(), "second");
            assert_eq!(recording.receipts(1).unwrap().unwrap(), "");
            assert!(recording.block(2).unwrap().is_none());
            assert_eq!(recording.bytes(), 23);
        }
    }
}
