//! A folder that was refused can be brought back to its last whole commit, and the operator is told what that cost.

use std::fs;
use std::path::PathBuf;

use store::StoreError;
use store_embedded::EmbeddedStore;

use crate::image::Image;
use crate::scene::{Scene, options};

fn journal(image: &Image) -> (PathBuf, usize) {
    let files = image.files.iter().filter(|file| file.path.to_str().unwrap().ends_with(".jnl"));
    let newest = files.max_by_key(|file| file.bytes.len()).unwrap();
    (newest.path.clone(), newest.bytes.len())
}

#[test]
fn a_folder_with_a_damaged_journal_is_cut_to_its_last_whole_commit() {
    let (scene, image) = Scene::play_without_tables();
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let (journal, used) = journal(&image);
    let path = folder.path().join(journal);
    let mut bytes = fs::read(&path).unwrap();
    bytes[used / 2] ^= 4;
    fs::write(&path, &bytes).unwrap();

    let refused = EmbeddedStore::open(folder.path(), options());
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    let repair = EmbeddedStore::repair(folder.path(), options()).unwrap().unwrap();
    assert!(repair.last_commit < repair.newest_known, "{repair:?}");
    assert_eq!(fs::read(repair.copies.join(path.file_name().unwrap())).unwrap(), bytes, "what was there is kept");

    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    let lost: Vec<u64> = scene.keys_that_are_gone(&store);
    assert!(!lost.is_empty(), "the second half held keys");
    assert!(lost.iter().all(|id| repair.lost.api_keys.contains(id)), "{lost:?} of {repair:?}");
    scene.check_chain_goes_on(&store).unwrap();
    drop(store);
    assert!(EmbeddedStore::repair(folder.path(), options()).unwrap().is_none(), "nothing is left to repair");
}

#[test]
fn a_cut_journal_is_repaired_too() {
    let (scene, image) = Scene::play_without_tables();
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let (journal, used) = journal(&image);
    let file = fs::OpenOptions::new().write(true).open(folder.path().join(journal)).unwrap();
    file.set_len(used as u64 / 2).unwrap();
    let refused = EmbeddedStore::open(folder.path(), options());
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    let repair = EmbeddedStore::repair(folder.path(), options()).unwrap().unwrap();
    assert!(repair.last_commit < repair.newest_known, "{repair:?}");
    let store = EmbeddedStore::open(folder.path(), options()).unwrap();
    scene.check_chain_goes_on(&store).unwrap();
}

#[test]
fn what_no_commit_can_be_vouched_for_is_left_as_it_was() {
    let (_, image) = Scene::play();
    let folder = tempfile::tempdir().unwrap();
    image.write_to(folder.path());
    let manifest = image.files.iter().find(|file| file.path.ends_with("keyspaces/4/current")).unwrap();
    fs::write(folder.path().join(&manifest.path), b"nonsense").unwrap();
    let refused = EmbeddedStore::repair(folder.path(), options());
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    let now = Image::of(folder.path());
    for (before, after) in image.files.iter().zip(&now.files) {
        assert_eq!(before.path, after.path);
        assert!(before.path == manifest.path || before.bytes == after.bytes, "{}", before.path.display());
    }
}
