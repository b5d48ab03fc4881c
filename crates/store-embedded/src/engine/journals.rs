//! All journals of an index: complete, in order, without a gap, and not shorter than what was acknowledged.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read},
    path::{Path, PathBuf},
};

use store::StoreError;

use super::{
    errors::from_io_error,
    journal::{Frame, Order, Scan, frames_after, scan},
    watermark::sync_folder,
};

/// The contents of the journals.
#[derive(Debug)]
pub(super) struct Journals {
    /// The number of the last complete commit; None if there is none.
    pub(super) last: Option<u64>,
    /// Bytes of complete commits.
    bytes: u64,
    /// The first unreadable position.
    pub(super) damage: Option<Damage>,
    /// The journal that the engine would append to.
    active: Option<Scan>,
}

#[derive(Debug)]
pub(super) struct Damage {
    pub(super) path: PathBuf,
    /// Offset of the first byte that belongs to no complete commit.
    pub(super) offset: u64,
    /// Journals created later.
    pub(super) later: Vec<PathBuf>,
    /// Complete commits after it, and the keys of their rows.
    pub(super) behind: Vec<Frame>,
    pub(super) keys_behind: Vec<Vec<u8>>,
    /// Whether no later journal contains a commit: only then can a crash have left a partial one.
    is_newest: bool,
}

impl Damage {
    /// A crash leaves a partial commit at the end of the newest journal, and a loss of power perhaps a gap among the
    /// last commits. Neither affects acknowledged commits; anything that does is damage.
    fn is_crash(&self, last: Option<u64>, durable: u64) -> bool {
        let none_lost = match last {
            Some(last) => last >= durable,
            None => !self.behind.iter().any(|frame| frame.commit <= durable),
        };
        self.is_newest && none_lost
    }

    pub(super) fn describe(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!("the journal {name} cannot be read at byte {}", self.offset)
    }
}

/// Reads all journals of an index.
pub(super) fn read(index: &Path) -> Result<Journals, StoreError> {
    let files = list(index)?;
    let mut order = Order::default();
    let (mut active, mut bytes) = (None, 0);
    for (position, (id, path)) in files.iter().enumerate() {
        let is_active = position + 1 == files.len();
        let follows =
            position.checked_sub(1).and_then(|before| files.get(before)).is_none_or(|(before, _)| before + 1 == *id);
        let scan = if follows { Some(scan(path, &mut order).map_err(from_io_error)?) } else { None };
        // The engine seals a journal only after many commits, so an empty sealed journal has lost them.
        let whole = scan.as_ref().is_some_and(|scan| scan.is_clean && (is_active || scan.frames > 0));
        if !whole {
            let offset = scan.map_or(0, |scan| scan.end);
            let mut keys_behind = Vec::new();
            let mut behind = frames_after(path, offset, |key| keys_behind.push(key)).map_err(from_io_error)?;
            let later: Vec<PathBuf> = files.iter().skip(position + 1).map(|(_, path)| path.clone()).collect();
            let in_this = behind.len();
            for path in &later {
                behind.extend(frames_after(path, 0, |key| keys_behind.push(key)).map_err(from_io_error)?);
            }
            let is_newest = behind.len() == in_this;
            let damage = Damage { path: path.clone(), offset, later, behind, keys_behind, is_newest };
            return Ok(Journals { last: order.commit, bytes: bytes + offset, damage: Some(damage), active: None });
        }
        bytes += scan.as_ref().map_or(0, |scan| scan.end);
        active = scan;
    }
    Ok(Journals { last: order.commit, bytes, damage: None, active })
}

/// Journals that the engine can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The number of the last commit; None if there is none.
    pub(super) last: Option<u64>,
    pub(super) bytes: u64,
}

/// Prepares the journals for the engine: truncates what a crash left at their end, and rejects any other damage.
pub(super) fn prepare(index: &Path, durable: u64) -> Result<Prepared, StoreError> {
    let journals = read(index)?;
    let prepared = Prepared { last: journals.last, bytes: journals.bytes };
    let Some(damage) = journals.damage else {
        return match journals.last {
            Some(last) if last < durable => Err(StoreError::Damaged { found: describe_cut(last, durable) }),
            _ => Ok(prepared),
        };
    };
    if !damage.is_crash(journals.last, durable) {
        return Err(StoreError::Damaged { found: damage.describe() });
    }
    tracing::warn!(
        journal = %damage.path.display(),
        offset = damage.offset,
        unfinished_commits = damage.behind.len() + 1,
        "a crash left an unfinished commit at the end of the journal: it is dropped"
    );
    truncate(&damage.path, damage.offset).map_err(from_io_error)?;
    Ok(prepared)
}

pub(super) fn describe_cut(last: u64, durable: u64) -> String {
    format!("the index ends with commit {last}, but commit {durable} was acknowledged")
}

/// Keeps the commits up to this one, in a newly written file: after a failed sync it is unknown which pages of the old
/// file are on disk.
pub(super) fn rewrite_up_to(index: &Path, commit: u64) -> Result<(), StoreError> {
    let journals = read(index)?;
    let (path, end) = match (&journals.damage, &journals.active) {
        (Some(damage), _) if damage.is_newest => (&damage.path, damage.offset),
        (None, Some(active)) => (&active.path, active.end),
        (None, None) => return Ok(()),
        (Some(damage), _) => return Err(StoreError::Damaged { found: damage.describe() }),
    };
    let end = if journals.last.is_some_and(|last| last > commit) { end_of(path, commit)? } else { end };
    rewrite(path, end).map_err(from_io_error)
}

/// Offset of the first byte after a commit in its journal; 0 if the journal contains only later ones.
fn end_of(path: &Path, commit: u64) -> Result<u64, StoreError> {
    let frames = frames_after(path, 0, |_| ()).map_err(from_io_error)?;
    let kept = frames.iter().take_while(|frame| frame.commit <= commit);
    Ok(kept.last().map_or(0, |frame| frame.end))
}

fn rewrite(path: &Path, bytes: u64) -> io::Result<()> {
    let unfinished = path.with_extension("jnl.new");
    let mut file = File::create(&unfinished)?;
    let copied = io::copy(&mut File::open(path)?.take(bytes), &mut file).and_then(|_| file.sync_all());
    if let Err(error) = copied {
        // It uses space that may be what is missing.
        let _ = fs::remove_file(&unfinished);
        return Err(error);
    }
    fs::rename(&unfinished, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Drops everything after this offset permanently.
pub(super) fn truncate(path: &Path, offset: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(offset)?;
    file.sync_all()
}

/// All journals, the oldest first.
pub(super) fn list(index: &Path) -> Result<Vec<(u64, PathBuf)>, StoreError> {
    let entries = match fs::read_dir(index) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(from_io_error(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(from_io_error)?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            let id = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            let id = id.ok_or_else(|| StoreError::Damaged { found: format!("{} is not a journal", path.display()) })?;
            files.push((id, path));
        }
    }
    files.sort_unstable();
    Ok(files)
}
