//! A rejected folder can be restored to its last complete commit, and the report says what is lost.

use std::{fs, path::PathBuf};

use store::StoreError;
use store_embedded::EmbeddedStore;

use super::{
    image::Image,
    written::{block_on, check, options, write_folder, write_folder_without_tables},
};

fn journal(image: &Image) -> (PathBuf, usize) {
    let files = image.files.iter().filter(|file| file.path.to_str().unwrap().ends_with(".jnl"));
    let newest = files.max_by_key(|file| file.bytes.len()).unwrap();
    (newest.path.clone(), newest.bytes.len())
}

#[test]
fn a_folder_with_a_damaged_journal_is_restored_to_its_last_complete_commit() {
    let (written, image) = write_folder_without_tables();
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let (journal, used) = journal(&image);
    let path = folder.path().join(journal);
    let mut bytes = fs::read(&path).unwrap();
    bytes[used / 2] ^= 4;
    fs::write(&path, &bytes).unwrap();

    let rejected = EmbeddedStore::open(folder.path(), options());
    assert!(matches!(rejected, Err(StoreError::Damaged { .. })), "{rejected:?}");
    let repair = EmbeddedStore::repair(folder.path(), options()).unwrap().unwrap();
    assert!(repair.last_commit < repair.newest_known, "{repair:?}");
    assert_eq!(
        fs::read(repair.copies.join(path.file_name().unwrap())).unwrap(),
        bytes,
        "the damaged file is backed up"
    );

    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    let lost: Vec<u64> = block_on(written.missing_keys(&store)).unwrap();
    assert!(!lost.is_empty(), "the second half contained keys");
    assert!(lost.iter().all(|id| repair.lost.api_keys.contains(id)), "{lost:?} of {repair:?}");
    check(&written, &store, &written.some_blocks()).unwrap();
    drop(store);
    assert!(EmbeddedStore::repair(folder.path(), options()).unwrap().is_none(), "nothing is left to repair");
}

#[test]
fn a_truncated_journal_is_repaired() {
    let (written, image) = write_folder_without_tables();
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let (journal, used) = journal(&image);
    let file = fs::OpenOptions::new().write(true).open(folder.path().join(journal)).unwrap();
    file.set_len(used as u64 / 2).unwrap();
    let rejected = EmbeddedStore::open(folder.path(), options());
    assert!(matches!(rejected, Err(StoreError::Damaged { .. })), "{rejected:?}");
    let repair = EmbeddedStore::repair(folder.path(), options()).unwrap().unwrap();
    assert!(repair.last_commit < repair.newest_known, "{repair:?}");
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    check(&written, &store, &written.some_blocks()).unwrap();
}

#[test]
fn a_folder_without_a_complete_commit_is_not_changed() {
    let (_, image) = write_folder();
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let manifest = image.files.iter().find(|file| file.path.ends_with("keyspaces/4/current")).unwrap();
    fs::write(folder.path().join(&manifest.path), b"nonsense").unwrap();
    let rejected = EmbeddedStore::repair(folder.path(), options());
    assert!(matches!(rejected, Err(StoreError::Damaged { .. })), "{rejected:?}");
    let now = Image::of(folder.path());
    for (before, after) in image.files.iter().zip(&now.files) {
        assert_eq!(before.path, after.path);
        assert!(before.path == manifest.path || before.bytes == after.bytes, "{}", before.path.display());
    }
}
