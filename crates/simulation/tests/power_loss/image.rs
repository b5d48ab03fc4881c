//! A folder as a disk may hold it when the power is lost.
//!
//! What is named how (files made, renamed, removed, cut) reaches the disk in the order it was done, as file systems with a
//! journal see to; a sync of a file or a folder brings all of it there that was done before. Bytes reach it in any order,
//! page by page, unless a sync of their file says otherwise.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use rand::{Rng, rngs::StdRng};

use crate::recording::{Inode, Operation, Recording};

const PAGE: u64 = 4 << 10;

/// Writes the folder as it may be after the power is lost before an operation; tells what was lost.
pub(crate) fn write_image(recording: &Recording, cut: usize, rng: &mut StdRng, folder: &Path) -> String {
    let done = &recording.operations[..cut];
    let mut synced: HashMap<Inode, usize> = HashMap::new();
    let mut named = 0;
    for (place, operation) in done.iter().enumerate() {
        match operation {
            Operation::SyncFile { inode } => {
                synced.insert(*inode, place);
                named = place;
            }
            Operation::SyncFolder => named = place,
            _ => {}
        }
    }
    // How a loss looks differs from one to the next: nothing lost, all lost, or some.
    let (kept, torn) = [(1.0, 0.0), (0.0, 0.0), (0.5, 0.2), (0.9, 0.1), (0.1, 0.1)][rng.random_range(0..5)];
    let last_named = if rng.random_bool(0.3) { done.len() } else { rng.random_range(named..=done.len()) };
    let mut names: BTreeMap<PathBuf, Inode> = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![PathBuf::new()];
    let mut contents: HashMap<Inode, Vec<u8>> = HashMap::new();
    let mut lost = 0;
    for (place, operation) in done.iter().enumerate() {
        let is_named = place < last_named;
        match operation {
            Operation::Write { inode, offset, bytes } => {
                let content = contents.entry(*inode).or_default();
                let is_synced = synced.get(inode).is_some_and(|sync| place < *sync);
                if is_synced || rng.random_bool(kept) {
                    put(content, *offset, bytes);
                } else if rng.random_bool(torn) {
                    lost += 1;
                    put_some_pages(content, *offset, bytes, rng);
                } else {
                    lost += 1;
                }
            }
            _ if !is_named => {}
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
    format!("{lost} writes lost, names up to {last_named}, {named} of {cut} synced")
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
