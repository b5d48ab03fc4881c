//! Reads the engine's journal files strictly, before the engine does. The engine's checksum does not cover the header
//! of a batch, and on unreadable data the engine assumes the end of the journal and truncates the file there, whatever
//! follows.
//!
//! A batch is `1, count: u32, sequence: u64`, then `count` items `2, value type, compression, keyspace: u64, key
//! length: u16, value length: u32, stored length: u32, key, stored value`, then `3, checksum of the items: u64, "FJL",
//! 3`. Numbers are little-endian. After the last batch the file ends or contains zeros.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use xxhash_rust::xxh3::Xxh3;

use super::commit_row;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const MAGIC: &[u8] = b"FJL\x03";
/// Value types and compressions of items.
const VALUE: u8 = 0;
const TOMBSTONE: u8 = 1;
const UNCOMPRESSED: u8 = 0;
/// Bytes of the end of a batch.
const END_BYTES: usize = 13;
/// Bytes of an item before its key.
const ITEM_HEAD: usize = 21;
const READ_BYTES: usize = 256 << 10;
/// The engine's sequence also counts flushes and compactions, a few between two batches.
const MAX_SEQUENCE_STEP: u64 = 1 << 32;

/// One complete atomic write with a valid checksum and a commit number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    /// Offset of the first byte after it.
    pub(super) end: u64,
    /// The engine's sequence number.
    sequence: u64,
    /// Our commit number.
    pub(super) commit: u64,
}

/// The position in the sequence that the next frame must continue.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Order {
    sequence: Option<u64>,
    pub(super) commit: Option<u64>,
}

impl Order {
    /// Whether the frame comes next: no commit may be missing or duplicated.
    fn accepts(&mut self, frame: &Frame) -> bool {
        let step = match self.sequence {
            Some(before) => {
                frame.sequence.checked_sub(before).is_some_and(|step| (1..MAX_SEQUENCE_STEP).contains(&step))
            }
            None => frame.sequence < 1 << 62,
        };
        let next = self.commit.is_none_or(|before| before.checked_add(1) == Some(frame.commit));
        if step && next {
            self.sequence = Some(frame.sequence);
            self.commit = Some(frame.commit);
        }
        step && next
    }
}

/// The contents of one journal file.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) path: PathBuf,
    pub(super) frames: u64,
    /// Offset of the first byte after the last complete frame.
    pub(super) end: u64,
    /// Whether only zeros follow.
    pub(super) is_clean: bool,
}

/// Reads frames from the start while each is complete and continues the sequence.
pub(super) fn scan(path: &Path, order: &mut Order) -> io::Result<Scan> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut reader = FrameReader::new(BufReader::with_capacity(READ_BYTES, file), 0, length);
    let (mut frames, mut end) = (0, 0);
    while let Some(frame) = reader.next_frame()? {
        if !order.accepts(&frame) {
            break;
        }
        (frames, end) = (frames + 1, frame.end);
    }
    let is_clean = only_zeros_from(path, end)?;
    Ok(Scan { path: path.to_owned(), frames, end, is_clean })
}

/// Complete frames after a damaged position, found by trying every offset; `seen` is called with the key of each of
/// their rows.
pub(super) fn frames_after(path: &Path, damage: u64, mut seen: impl FnMut(Vec<u8>)) -> io::Result<Vec<Frame>> {
    let rest = read_from(path, damage)?;
    let (mut offset, mut found) = (0, Vec::new());
    while let Some(next) = rest.get(offset..).and_then(|rest| rest.iter().position(|byte| *byte == START)) {
        offset += next;
        let position = damage + offset as u64;
        let behind = rest.get(offset..).unwrap_or_default();
        let mut reader = FrameReader::new(behind, position, position + behind.len() as u64);
        match reader.next_frame_with_keys()? {
            Some((frame, keys)) => {
                found.push(frame);
                keys.into_iter().for_each(&mut seen);
                offset = usize::try_from(frame.end - damage).unwrap_or(usize::MAX);
            }
            None => offset += 1,
        }
    }
    Ok(found)
}

fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    Ok(rest)
}

fn only_zeros_from(path: &Path, offset: u64) -> io::Result<bool> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut chunk = vec![0; READ_BYTES];
    loop {
        let count = file.read(&mut chunk)?;
        if count == 0 {
            return Ok(true);
        }
        if chunk.iter().take(count).any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
}

/// A change of one row, as it is in the file.
pub(super) struct Change<'a> {
    pub(super) keyspace: u64,
    pub(super) key: &'a [u8],
    /// None: the row is deleted.
    pub(super) value: Option<&'a [u8]>,
}

/// Passes on the changes of all frames, in order. The frames must have been scanned. None if one has a form in which this version
/// does not write them.
pub(super) fn changes<'a>(journal: &'a [u8], mut seen: impl FnMut(Change<'a>)) -> Option<()> {
    let mut rest = journal;
    while rest.first() == Some(&START) {
        let (head, items) = rest.split_at_checked(13)?;
        rest = items;
        for _ in 0..u32::from_le_bytes(*head.get(1..)?.first_chunk()?) {
            let (head, after) = rest.split_at_checked(ITEM_HEAD)?;
            let (key, after) =
                after.split_at_checked(usize::from(u16::from_le_bytes(*head.get(11..)?.first_chunk()?)))?;
            let value_bytes = u32::from_le_bytes(*head.get(17..)?.first_chunk()?);
            let (value, after) = after.split_at_checked(usize::try_from(value_bytes).ok()?)?;
            let value = match head {
                [ITEM, VALUE, UNCOMPRESSED, ..] => Some(value),
                [ITEM, TOMBSTONE, UNCOMPRESSED, ..] => None,
                _ => return None,
            };
            seen(Change { keyspace: u64::from_le_bytes(*head.get(3..)?.first_chunk()?), key, value });
            rest = after;
        }
        rest = rest.get(END_BYTES..)?;
    }
    Some(())
}

struct FrameReader<R> {
    reader: R,
    position: u64,
    length: u64,
    buffer: Vec<u8>,
}

impl<R: Read> FrameReader<R> {
    fn new(reader: R, position: u64, length: u64) -> Self {
        Self { reader, position, length, buffer: Vec::new() }
    }

    /// Reads `count` bytes; false if the file is shorter.
    fn fill(&mut self, count: usize) -> io::Result<bool> {
        let after = self.position.saturating_add(count as u64);
        if after > self.length {
            return Ok(false);
        }
        self.buffer.resize(count, 0);
        self.reader.read_exact(&mut self.buffer)?;
        self.position = after;
        Ok(true)
    }

    fn number<const N: usize>(&self, at: usize) -> [u8; N] {
        self.buffer.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        self.read_frame(|_| ())
    }

    fn next_frame_with_keys(&mut self) -> io::Result<Option<(Frame, Vec<Vec<u8>>)>> {
        let mut keys = Vec::new();
        let frame = self.read_frame(|key| keys.push(key.to_vec()))?;
        Ok(frame.map(|frame| (frame, keys)))
    }

    /// None if no complete frame starts here.
    fn read_frame(&mut self, mut seen: impl FnMut(&[u8])) -> io::Result<Option<Frame>> {
        if !self.fill(13)? || self.buffer.first() != Some(&START) {
            return Ok(None);
        }
        let (count, sequence) = (u32::from_le_bytes(self.number(1)), u64::from_le_bytes(self.number(5)));
        let (mut checksum, mut commit) = (Xxh3::new(), None);
        for _ in 0..count {
            if !self.fill(ITEM_HEAD)? || self.buffer.first() != Some(&ITEM) {
                return Ok(None);
            }
            checksum.update(&self.buffer);
            let key_bytes = usize::from(u16::from_le_bytes(self.number(11)));
            let value_bytes = u32::from_le_bytes(self.number(17)) as usize;
            if !self.fill(key_bytes.saturating_add(value_bytes))? {
                return Ok(None);
            }
            checksum.update(&self.buffer);
            let (key, value) = self.buffer.split_at(key_bytes);
            commit = commit.or(commit_row::number(key, value));
            seen(key);
        }
        let whole = count > 0
            && self.fill(END_BYTES)?
            && self.buffer.first() == Some(&END)
            && self.buffer.ends_with(MAGIC)
            && u64::from_le_bytes(self.number(1)) == checksum.digest();
        Ok(commit.filter(|_| whole).map(|commit| Frame { end: self.position, sequence, commit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sequence: u64, commit: u64) -> Vec<u8> {
        let (key, value) = commit_row::row(commit);
        frame_of(sequence, key, &value)
    }

    fn frame_of(sequence: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut item = vec![ITEM, 0, 0];
        item.extend(7_u64.to_le_bytes());
        item.extend(u16::try_from(key.len()).unwrap().to_le_bytes());
        item.extend([u32::try_from(value.len()).unwrap().to_le_bytes(); 2].concat());
        item.extend(key);
        item.extend(value);
        let mut frame = vec![START];
        frame.extend(1_u32.to_le_bytes());
        frame.extend(sequence.to_le_bytes());
        frame.extend(&item);
        frame.push(END);
        frame.extend(xxhash_rust::xxh3::xxh3_64(&item).to_le_bytes());
        frame.extend(MAGIC);
        frame
    }

    fn scanned(bytes: &[u8]) -> Scan {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        scan(file.path(), &mut Order::default()).unwrap()
    }

    #[test]
    fn frames_are_read_up_to_zeros_or_the_end() {
        let mut bytes = [frame(3, 1), frame(5, 2)].concat();
        let end = bytes.len() as u64;
        for zeros in [0, 5_000] {
            bytes.resize(bytes.len() + zeros, 0);
            let scan = scanned(&bytes);
            assert_eq!((scan.frames, scan.end, scan.is_clean), (2, end, true));
        }
        let empty = scanned(&[]);
        assert_eq!((empty.frames, empty.end, empty.is_clean), (0, 0, true));
    }

    #[test]
    fn every_flipped_bit_is_detected_or_harmless() {
        let frames = [frame(3, 1), frame(5, 2), frame(6, 3)];
        let bytes = frames.concat();
        let starts: Vec<u64> = vec![0, frames[0].len() as u64, (frames[0].len() + frames[1].len()) as u64];
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let scan = scanned(&damaged);
            let hit = starts.iter().filter(|start| **start <= (bit / 8) as u64).count() as u64 - 1;
            // The engine's sequence number has no checksum. A different one in the same order has no effect.
            let within = bit / 8 - usize::try_from(starts[usize::try_from(hit).unwrap()]).unwrap();
            if (5..13).contains(&within) && scan.frames == 3 {
                continue;
            }
            assert!(!scan.is_clean || scan.frames == 3, "bit {bit} is not detected");
            assert!(scan.frames >= hit && scan.frames < 3, "bit {bit}: {scan:?}");
        }
    }

    #[test]
    fn changes_are_read_in_order_up_to_the_end() {
        let bytes = [frame(3, 1), frame_of(5, b"key", b"row"), vec![0; 100]].concat();
        let mut found = Vec::new();
        changes(&bytes, |change| found.push((change.keyspace, change.key, change.value))).unwrap();
        let (key, value) = commit_row::row(1);
        assert_eq!(found, [(7, key, Some(&value[..])), (7, b"key", Some(b"row"))]);
        let mut compressed = frame(3, 1);
        compressed[13 + 2] = 1;
        assert!(changes(&compressed, |_| ()).is_none());
        assert!(changes(&bytes[..30], |_| ()).is_none());
    }

    #[test]
    fn a_missing_frame_ends_the_scan() {
        let scan = scanned(&[frame(3, 1), frame(6, 3)].concat());
        assert_eq!((scan.frames, scan.is_clean), (1, false));
    }

    #[test]
    fn a_frame_without_a_commit_number_is_not_complete() {
        let (key, _) = commit_row::row(1);
        let scan = scanned(&[frame(3, 1), frame_of(5, &key[1..], b"row")].concat());
        assert_eq!((scan.frames, scan.is_clean), (1, false));
    }

    #[test]
    fn frames_after_a_damaged_position_are_found() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes = [frame(3, 1), vec![0; 700], vec![1; 30], frame(9, 4), frame(11, 5)].concat();
        std::fs::write(file.path(), &bytes).unwrap();
        let scan = scan(file.path(), &mut Order::default()).unwrap();
        assert_eq!((scan.frames, scan.is_clean), (1, false));
        let behind = frames_after(file.path(), scan.end, |_| ()).unwrap();
        assert_eq!(behind.iter().map(|frame| frame.commit).collect::<Vec<_>>(), [4, 5]);
    }
}
