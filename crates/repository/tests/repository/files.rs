//! The files of the repository.

use std::path::{Path, PathBuf};

/// The folder of the repository. Read when the tests run, so that they can be pointed at another checkout.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    Path::new(&manifest).join("../..").canonicalize().unwrap()
}

/// The text of a file, by its path in the repository.
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files below a folder whose names end like this, sorted, as paths in the repository.
pub(crate) fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let root = root();
    let mut folders = vec![root.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(ending) {
                files.push(path.strip_prefix(&root).unwrap().to_owned());
            }
        }
    }
    assert!(!files.is_empty(), "no files in {folder}");
    files.sort();
    files
}
