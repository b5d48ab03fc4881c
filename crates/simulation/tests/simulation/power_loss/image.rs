//! Builds the image of a folder after a power loss.
//!
//! Changes of metadata (creation, rename, removal, truncation) reach the disk in order, as in a journaling file system; any
//! sync also makes all earlier ones durable. Data reaches the disk page by page in any order, unless its file is synced.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use rand::{Rng, rngs::StdRng};

use super::recording::{Inode, Operation, Recording};

const PAGE: u64 = 4 << 10;

/// Writes a possible image of the folder after a power loss before operation `cut`, and describes the loss.
pub(super) fn write_image(recording: &Recording, cut: usize, rng: &mut StdRng, folder: &Path) -> String {
    let done = &recording.operations[..cut];
    let mut synced: HashMap<Inode, usize> = HashMap::new();
    let mut synced_names = 0;
    for (position, operation) in done.iter().enumerate() {
        match operation {
            Operation::SyncFile { inode } => {
                synced.insert(*inode, position);
                synced_names = position;
            }
            Operation::SyncFolder => synced_names = position,
            _ => {}
        }
    }
    // The share of unsynced writes that survive, and the share of the others that are torn.
    let (kept, torn) = [(1.0, 0.0), (0.0, 0.0), (0.5, 0.2), (0.9, 0.1), (0.1, 0.1)][rng.random_range(0..5)];
    let durable_names = if rng.random_bool(0.3) { done.len() } else { rng.random_range(synced_names..=done.len()) };
    let mut names: BTreeMap<PathBuf, Inode> = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![PathBuf::new()];
    let mut contents: HashMap<Inode, Vec<u8>> = HashMap::new();
    let mut lost = 0;
    for (position, operation) in done.iter().enumerate() {
        let is_durable = position < durable_names;
        match operation {
            Operation::Write { inode, offset, bytes } => {
                let content = contents.entry(*inode).or_default();
                let is_synced = synced.get(inode).is_some_and(|sync| position < *sync);
                if is_synced || rng.random_bool(kept) {
                    put(content, *offset, bytes);
                } else if rng.random_bool(torn) {
                    lost += 1;
                    put_some_pages(content, *offset, bytes, rng);
                } else {
                    lost += 1;
                }
            }
            _ if !is_durable => {}
            Operation::CreateFile { path, inode } => drop(names.insert(path.clone(), *inode)),
            Operation::CreateFolder { path } => folders.push(path.clone()),
            Operation::SetLength { inode, length } => {
                contents.entry(*inode).or_default().resize(usize::try_from(*length).unwrap(), 0);
            }
            Operation::Rename { from, to } => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            Operation::Remove { path } => {
                names.remove(path);
                folders.retain(|folder| folder != path);
            }
            Operation::SyncFile { .. } | Operation::SyncFolder | Operation::Acknowledge { .. } => {}
        }
    }
    for path in &folders {
        fs::create_dir_all(folder.join(path)).unwrap();
    }
    for (path, inode) in &names {
        write_sparsely(&folder.join(path), contents.get(inode).map_or(&[], Vec::as_slice));
    }
    format!(
        "{lost} writes lost, metadata durable up to operation {durable_names} of {cut}, synced up to {synced_names}"
    )
}

fn put(content: &mut Vec<u8>, offset: u64, bytes: &[u8]) {
    let start = usize::try_from(offset).unwrap();
    let end = start + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[start..end].copy_from_slice(bytes);
}

fn put_some_pages(content: &mut Vec<u8>, offset: u64, bytes: &[u8], rng: &mut StdRng) {
    let end = offset + bytes.len() as u64;
    let mut from = offset;
    while from < end {
        let to = (from / PAGE * PAGE + PAGE).min(end);
        if rng.random_bool(0.5) {
            let within = |at: u64| usize::try_from(at - offset).unwrap();
            put(content, from, &bytes[within(from)..within(to)]);
        }
        from = to;
    }
}

/// Journals end in megabytes of zeros.
fn write_sparsely(path: &Path, bytes: &[u8]) {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let file = fs::File::create(path).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    file.write_all_at(&bytes[..used], 0).unwrap();
}
