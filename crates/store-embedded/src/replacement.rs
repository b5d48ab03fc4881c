//! Puts a new index in the place of the old one. Interrupted at any moment, it continues when the folder is opened again: what
//! is left to do follows from the files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use store::StoreError;

use crate::engine::{INDEX_FOLDER, WATERMARK_FILE, from_io_error, sync_folder};

/// A data folder inside of the data folder, until it is complete.
const NEXT: &str = "index.next";
const OLD: &str = "index.old";
/// In the folder of the next index, once it has everything.
const COMPLETE: &str = "complete";

pub(crate) fn folder_of_next(data: &Path) -> PathBuf {
    data.join(NEXT)
}

/// A new index that is not complete yet.
#[derive(Debug)]
pub(crate) struct Replacement<'a> {
    data: &'a Path,
}

impl<'a> Replacement<'a> {
    pub(crate) fn begin(data: &'a Path) -> Result<Self, StoreError> {
        fs::create_dir(folder_of_next(data)).map_err(from_io_error)?;
        Ok(Self { data })
    }

    /// The new index has everything, and nothing has either one open.
    pub(crate) fn complete(self) -> Result<(), StoreError> {
        self.mark().map_err(from_io_error)?;
        resume(self.data)
    }

    fn mark(&self) -> io::Result<()> {
        mark(&folder_of_next(self.data))?;
        sync_folder(self.data)
    }
}

fn mark(next: &Path) -> io::Result<()> {
    fs::File::create(next.join(COMPLETE))?.sync_all()?;
    sync_folder(next)
}

/// Replaces the index with the one in a folder on the same file system, which has everything. Nothing has either one open.
pub(crate) fn replace_with(data: &Path, filled: &Path) -> Result<(), StoreError> {
    let begin = || -> io::Result<()> {
        mark(filled)?;
        fs::rename(filled, folder_of_next(data))?;
        sync_folder(data)
    };
    begin().map_err(from_io_error)?;
    resume(data)
}

/// Does what an interrupted replacement has left to do.
pub(crate) fn resume(data: &Path) -> Result<(), StoreError> {
    run_steps(data, usize::MAX).map_err(from_io_error)
}

fn run_steps(data: &Path, at_most: usize) -> io::Result<()> {
    for _ in 0..at_most {
        let Some(step) = next_step(data) else { break };
        step.run(data)?;
    }
    Ok(())
}

/// In the order in which they are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    DropIncomplete,
    MoveOld,
    MoveNext,
    MoveWatermark,
    RemoveNext,
    RemoveOld,
}

fn next_step(data: &Path) -> Option<Step> {
    let (next, index) = (folder_of_next(data), data.join(INDEX_FOLDER));
    if !next.exists() {
        return (data.join(OLD).exists() && index.exists()).then_some(Step::RemoveOld);
    }
    Some(if !next.join(COMPLETE).exists() {
        Step::DropIncomplete
    } else if next.join(INDEX_FOLDER).exists() {
        if index.exists() { Step::MoveOld } else { Step::MoveNext }
    } else if next.join(WATERMARK_FILE).exists() {
        Step::MoveWatermark
    } else {
        Step::RemoveNext
    })
}

impl Step {
    fn run(self, data: &Path) -> io::Result<()> {
        let (next, old, index) = (folder_of_next(data), data.join(OLD), data.join(INDEX_FOLDER));
        match self {
            Self::DropIncomplete | Self::RemoveNext => fs::remove_dir_all(&next)?,
            Self::MoveOld => {
                // Of a replacement before, if removing it was interrupted.
                if old.exists() {
                    fs::remove_dir_all(&old)?;
                }
                fs::rename(&index, &old)?;
            }
            Self::MoveNext => fs::rename(next.join(INDEX_FOLDER), &index)?,
            Self::MoveWatermark => fs::rename(next.join(WATERMARK_FILE), data.join(WATERMARK_FILE))?,
            Self::RemoveOld => fs::remove_dir_all(&old)?,
        }
        sync_folder(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a process that was killed after some steps has left.
    fn stopped_after(steps: usize) -> tempfile::TempDir {
        let data = tempfile::tempdir().unwrap();
        let write = |folder: PathBuf, content: &str| {
            fs::create_dir_all(folder.join(INDEX_FOLDER)).unwrap();
            fs::write(folder.join(INDEX_FOLDER).join("0.jnl"), content).unwrap();
            fs::write(folder.join(WATERMARK_FILE), content).unwrap();
        };
        write(data.path().to_owned(), "old");
        let replacement = Replacement::begin(data.path()).unwrap();
        write(folder_of_next(data.path()), "new");
        replacement.mark().unwrap();
        run_steps(data.path(), steps).unwrap();
        data
    }

    fn content(data: &Path) -> [String; 2] {
        [data.join(INDEX_FOLDER).join("0.jnl"), data.join(WATERMARK_FILE)].map(|path| fs::read_to_string(path).unwrap())
    }

    #[test]
    fn a_replacement_that_was_killed_at_any_step_continues() {
        let left = [
            Some(Step::MoveOld),
            Some(Step::MoveNext),
            Some(Step::MoveWatermark),
            Some(Step::RemoveNext),
            Some(Step::RemoveOld),
            None,
        ];
        for (steps, next) in left.into_iter().enumerate() {
            let data = stopped_after(steps);
            assert_eq!(next_step(data.path()), next);
            resume(data.path()).unwrap();
            assert_eq!(content(data.path()), ["new", "new"], "after {steps} steps");
            assert_eq!(fs::read_dir(data.path()).unwrap().count(), 2, "after {steps} steps");
        }
    }

    #[test]
    fn a_new_index_that_is_not_complete_is_dropped() {
        let data = stopped_after(0);
        fs::remove_file(folder_of_next(data.path()).join(COMPLETE)).unwrap();
        resume(data.path()).unwrap();
        assert_eq!(content(data.path()), ["old", "old"]);
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 2);
    }

    #[test]
    fn an_index_that_was_filled_elsewhere_replaces_the_other() {
        let data = stopped_after(0);
        let filled = data.path().join("filled");
        fs::rename(folder_of_next(data.path()), &filled).unwrap();
        resume(data.path()).unwrap();
        assert_eq!(content(data.path()), ["old", "old"], "it is not touched by anything else");
        replace_with(data.path(), &filled).unwrap();
        assert_eq!(content(data.path()), ["new", "new"]);
        assert_eq!(fs::read_dir(data.path()).unwrap().count(), 2);
    }

    #[test]
    fn the_only_index_is_never_removed() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join(OLD)).unwrap();
        resume(data.path()).unwrap();
        assert!(data.path().join(OLD).exists());
    }
}
