use std::{fs, path::Path};

use rand::{Rng, rngs::StdRng};

use super::image::{Image, ImageFile};

/// Each kind of file is equally likely, however many files it has.
const KINDS: [fn(&str) -> bool; 6] = [
    |path| path.ends_with(".jnl"),
    |path| path.ends_with(".jnl"),
    |path| path.contains("/tables/"),
    |path| path.ends_with("/current"),
    |path| path.rsplit('/').next().is_some_and(|name| name.starts_with('v')),
    |path| !path.contains("/keyspaces/") && !path.ends_with(".jnl"),
];

/// Damages one file of a folder in one way, and describes it.
pub(super) fn damage_one(rng: &mut StdRng, image: &Image, folder: &Path) -> String {
    let kind = KINDS[rng.random_range(0..KINDS.len())];
    let files: Vec<&ImageFile> =
        image.files.iter().filter(|file| kind(file.path.to_str().unwrap()) && !file.bytes.is_empty()).collect();
    let file = files[rng.random_range(0..files.len())];
    let path = folder.join(&file.path);
    let mut bytes = fs::read(&path).unwrap();
    let used = file.bytes.len();
    let at = rng.random_range(0..used);
    let how = match rng.random_range(0..6) {
        0..3 => {
            let bit = rng.random_range(0..8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at}")
        }
        3 => {
            bytes.truncate(at);
            format!("truncated at {at}")
        }
        4 => {
            let count = rng.random_range(1..4_096).min(used - at);
            bytes[at..at + count].fill(0);
            format!("{count} zeros at {at}")
        }
        _ => {
            bytes[at..].fill(0);
            format!("zeros from {at}")
        }
    };
    write_sparsely(&path, &bytes);
    format!("{} of {used} in {}", how, file.path.display())
}

/// Journals end in megabytes of zeros.
fn write_sparsely(path: &Path, bytes: &[u8]) {
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    fs::write(path, &bytes[..used]).unwrap();
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bytes.len() as u64).unwrap();
}
