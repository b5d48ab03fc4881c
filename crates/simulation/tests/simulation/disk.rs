//! Data folders after a crash.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use rand::{Rng, rngs::StdRng};
use rustix::fs::{SeekFrom as Extent, seek};

use crate::plan::DiskFault;

const PAGE: u64 = 4 << 10;

/// The journal, its length, and the tables at the last sync.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Synced {
    journal: PathBuf,
    length: u64,
    tables: BTreeSet<PathBuf>,
}

impl Synced {
    /// The position up to which journals are synced.
    pub(crate) fn end(&self) -> (u64, u64) {
        (journal_number(&self.journal), self.length)
    }
}

fn journal_number(path: &Path) -> u64 {
    path.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

/// The current journal, its used length, and the current tables.
pub(crate) fn measure(data: &Path) -> Option<Synced> {
    let entries = fs::read_dir(data.join("index")).ok()?.map(|entry| entry.unwrap().path());
    let journals = entries.filter(|path| path.extension().is_some_and(|extension| extension == "jnl"));
    let newest = journals.max_by_key(|path| journal_number(path))?;
    let length = used(&newest).unwrap();
    let mut files = Listing::new();
    // A file may disappear while the folder is listed: the tables change then.
    let _ = list(data, Path::new("index"), &mut files);
    let is_table = |path: &PathBuf| path.parent().is_some_and(|parent| parent.ends_with("tables"));
    let tables = files.into_keys().filter(is_table).collect();
    Some(Synced { journal: newest.strip_prefix(data).unwrap().to_owned(), length, tables })
}

/// The written parts of a sparse file: a journal ends in megabytes of zeros.
fn extents(file: &File, length: u64) -> io::Result<Vec<(u64, u64)>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < length {
        let Ok(start) = seek(file, Extent::Data(at)) else { break };
        let end = seek(file, Extent::Hole(start))?;
        found.push((start, end.min(length)));
        at = end;
    }
    Ok(found)
}

fn used(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    for (start, end) in extents(&file, length)?.into_iter().rev() {
        let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
        file.read_exact_at(&mut bytes, start)?;
        if let Some(last) = bytes.iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
    }
    Ok(0)
}

type Listing = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

fn list(root: &Path, within: &Path, listing: &mut Listing) -> io::Result<()> {
    for entry in fs::read_dir(root.join(within))? {
        let entry = entry?;
        let (path, metadata) = (within.join(entry.file_name()), entry.metadata()?);
        if metadata.is_dir() {
            listing.insert(path.clone(), (0, None));
            list(root, &path, listing)?;
        } else {
            listing.insert(path, (metadata.len(), Some(metadata.modified()?)));
        }
    }
    Ok(())
}

/// Copies a consistent snapshot of a folder: if the engine's threads write meanwhile, the copy is repeated.
pub(crate) fn copy(from: &Path, to: &Path) {
    for _ in 0..1_000 {
        if copy_once(from, to).unwrap_or(false) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("{} changes all the time", from.display());
}

fn copy_once(from: &Path, to: &Path) -> io::Result<bool> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    let (mut before, mut after) = (Listing::new(), Listing::new());
    list(from, Path::new(""), &mut before)?;
    for (path, (length, modified)) in &before {
        match modified {
            None => fs::create_dir_all(to.join(path))?,
            Some(_) => copy_file(&from.join(path), &to.join(path), *length)?,
        }
    }
    list(from, Path::new(""), &mut after)?;
    Ok(before == after)
}

fn copy_file(from: &Path, to: &Path, length: u64) -> io::Result<()> {
    let (mut source, mut copy) = (File::open(from)?, File::create(to)?);
    copy.set_len(length)?;
    for (start, end) in extents(&source, length)? {
        source.seek(SeekFrom::Start(start))?;
        copy.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; usize::try_from(end - start).unwrap()];
        source.read_exact(&mut bytes)?;
        copy.write_all(&bytes)?;
    }
    Ok(())
}

/// Applies the effects of a crash to a copied folder, and describes them.
pub(crate) fn apply_crash(data: &Path, disk: DiskFault, synced: Option<&Synced>, rng: &mut StdRng) -> String {
    let Some(Synced { journal, length: used, tables }) = measure(data) else { return "nothing written".to_owned() };
    let path = data.join(&journal);
    match disk {
        DiskFault::Intact => "intact".to_owned(),
        DiskFault::TornWrite => {
            // The start of a commit.
            let bytes: Vec<u8> = [&[1][..], &rng.random::<[u8; 32]>()].concat();
            let count = rng.random_range(1..bytes.len());
            write_at(&path, used, &bytes[..count]);
            format!("{count} bytes of a commit at {used}")
        }
        DiskFault::PowerLoss => {
            let safe = synced.filter(|synced| synced.journal == journal).map_or(0, |synced| synced.length.min(used));
            if safe == used || synced.is_none() {
                return "everything was synced".to_owned();
            }
            // The engine syncs the journal before it writes a table, so less than the whole rest may be lost. How much less
            // is unknown here; the test of power loss records it.
            if synced.is_some_and(|synced| synced.tables != tables) {
                return "tables were written, which syncs the journal".to_owned();
            }
            if rng.random_bool(0.5) {
                let from = rng.random_range(safe..used);
                write_at(&path, from, &vec![0; usize::try_from(used - from).unwrap()]);
                return format!("zeros from {from} on, {safe} of {used} bytes were synced");
            }
            let mut lost = Vec::new();
            let mut page = safe / PAGE * PAGE;
            while page < used {
                let (from, to) = (page.max(safe), (page + PAGE).min(used));
                if rng.random_bool(0.5) {
                    write_at(&path, from, &vec![0; usize::try_from(to - from).unwrap()]);
                    lost.push(from);
                }
                page += PAGE;
            }
            format!("pages lost at {lost:?}, {safe} of {used} bytes were synced")
        }
    }
}

fn write_at(path: &Path, offset: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, offset).unwrap();
}
