//! The folder of downloaded compilers, with LRU eviction above a size limit. Files that the operator put there have no
//! checksum file, and are never touched.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::checksum;

/// Files of an interrupted download are removed after this time.
const STALE_AFTER: Duration = Duration::from_secs(600);

#[derive(Debug)]
struct Fetched {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Deletes the least recently used compilers until `wanted` more bytes fit; returns the deleted ones.
pub(super) fn make_room(
    folder: &Path,
    limit: u64,
    wanted: u64,
    is_in_use: impl Fn(&Path) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let mut fetched = list(folder)?;
    fetched.sort_by_key(|one| one.used);
    let mut bytes: u64 = fetched.iter().map(|one| one.bytes).sum::<u64>() + wanted;
    let mut deleted = Vec::new();
    for one in fetched {
        if bytes <= limit {
            break;
        }
        if !is_in_use(&one.path) {
            checksum::remove(&one.path)?;
            bytes -= one.bytes;
            deleted.push(one.path);
        }
    }
    Ok(deleted)
}

/// Marks a compiler as just used.
pub(super) fn touch(path: &Path) {
    // The modification time of the checksum file: an executable that is running cannot be opened for writing.
    if let Ok(file) = fs::OpenOptions::new().append(true).open(checksum::checksum_path(path)) {
        let _ = file.set_modified(SystemTime::UNIX_EPOCH + unix_time::now());
    }
}

/// Whether this file was downloaded, not put there by the operator.
pub(super) fn is_fetched(path: &Path) -> bool {
    checksum::checksum_path(path).is_file()
}

/// A folder for a download in progress, removed on drop.
#[derive(Debug)]
pub(super) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(super) fn new(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(format!("fetching-{}-{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the files of interrupted downloads.
pub(super) fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let old =
            |time: io::Result<SystemTime>| time.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE_AFTER));
        if !old(entry.metadata().and_then(|data| data.modified())) {
            continue;
        }
        let (path, name) = (entry.path(), entry.file_name());
        let Some(name) = name.to_str() else { continue };
        if name.starts_with("fetching-") && path.is_dir() {
            fs::remove_dir_all(&path)?;
        } else if name.ends_with(".new") || (name.ends_with(".sha256") && !path.with_extension("").exists()) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn list(folder: &Path) -> io::Result<Vec<Fetched>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut fetched = Vec::new();
    for entry in entries {
        let entry = entry?;
        let marker = entry.path();
        if marker.extension().is_none_or(|extension| extension != "sha256") {
            continue;
        }
        let path = marker.with_extension("");
        if let Ok(data) = fs::metadata(&path) {
            fetched.push(Fetched { path, bytes: data.len(), used: entry.metadata()?.modified()? });
        }
    }
    Ok(fetched)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compilers::checksum::{Executable, checksum_path, store};

    fn put(folder: &Path, name: &str, bytes: usize, used: u64) -> PathBuf {
        let path = folder.join(name);
        store(&path, &vec![0; bytes], Executable::No).unwrap();
        set_used(&checksum_path(&path), used);
        path
    }

    fn set_used(path: &Path, seconds: u64) {
        let file = fs::OpenOptions::new().append(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn the_least_recently_used_are_evicted_except_those_in_use_and_of_the_operator() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("solc-v0.8.1");
        fs::write(&own, [0; 5_000]).unwrap();
        let [first, second, third] = [("soljson-v0.8.2.js", 1), ("soljson-v0.8.3.js", 2), ("soljson-v0.8.4.js", 3)]
            .map(|(name, used)| put(folder.path(), name, 1_000, used));
        let room = |wanted, in_use: &Path| make_room(folder.path(), 3_500, wanted, |path| path == in_use).unwrap();
        assert_eq!(room(500, &first), Vec::<PathBuf>::new(), "there is room");
        assert_eq!(room(600, &first), std::slice::from_ref(&second), "the oldest is in use");
        touch(&first);
        assert_eq!(room(2_000, &own), std::slice::from_ref(&third), "the first was used last");
        assert!(first.is_file() && own.is_file() && !second.exists() && !third.exists());
        assert!(!checksum_path(&third).exists(), "nothing is left of it");
        assert_eq!(room(9_000, &first), Vec::<PathBuf>::new(), "one in use stays, whatever is wanted");
    }

    #[test]
    fn files_of_interrupted_downloads_are_removed_and_those_in_progress_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = TemporaryFolder::new(folder.path(), "0.8.20").unwrap();
        fs::write(temporary.path().join("half.tgz"), "half").unwrap();
        for name in ["soljson-v0.8.20.js.77.new", "soljson-v0.8.21.js.sha256", "kept.js", "kept.js.sha256"] {
            fs::write(folder.path().join(name), "").unwrap();
            set_used(&folder.path().join(name), 1);
        }
        fs::write(folder.path().join("soljson-v0.8.22.js.78.new"), "").unwrap();
        remove_leftovers(folder.path()).unwrap();
        let names = || {
            let mut names: Vec<String> = fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        };
        let fetching = format!("fetching-{}-0.8.20", std::process::id());
        assert_eq!(names(), [&fetching, "kept.js", "kept.js.sha256", "soljson-v0.8.22.js.78.new"]);
        drop(temporary);
        assert_eq!(names(), ["kept.js", "kept.js.sha256", "soljson-v0.8.22.js.78.new"]);
    }
}
