//! Snapshots of a store that is written to, and restoring them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use domain::BlockChanges;
use store::{ChainReader, ChainWriter, RecordImport, SnapshotContent, Store, StoreError, Undo};
use store_conformance::{RandomChain, leave_records};
use store_embedded::{EmbeddedStore, Restoration, StoreOptions, has_index, inspect, restore};

const BLOCKS: usize = 300;
const SNAPSHOTS: usize = 5;

/// So small that tables are written and merged all the time.
fn options() -> StoreOptions {
    StoreOptions { write_buffer_bytes: 40 << 10, cache_bytes: 4 << 20, ..StoreOptions::default() }
}

fn blocks() -> Vec<BlockChanges> {
    let mut chain = RandomChain::new(11);
    let mut blocks: Vec<BlockChanges> = vec![chain.next_block(None)];
    while blocks.len() < BLOCKS {
        let next = chain.next_block(Some(&blocks[blocks.len() - 1].block));
        blocks.push(next);
    }
    blocks
}

async fn write(store: &EmbeddedStore, blocks: &[BlockChanges]) {
    let mut writer = store.writer();
    for block in blocks {
        writer.commit(vec![block.clone()], Undo::Keep { down_to: 0 }).await.unwrap();
    }
}

#[test]
fn a_snapshot_of_a_busy_store_is_the_state_after_one_of_its_commits() {
    let folder = tempfile::tempdir().unwrap();
    let (store, blocks) = (EmbeddedStore::open(&folder.path().join("data"), options()).unwrap(), blocks());
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let is_over = AtomicBool::new(false);
    let snapshot = |number: usize| folder.path().join(format!("snapshot-{number}"));
    let taking = || -> Vec<u64> {
        let take = |number| store.snapshot(&snapshot(number)).unwrap();
        let mut commits = vec![take(0)];
        while commits.len() < SNAPSHOTS - 1 && !is_over.load(Ordering::Relaxed) {
            std::thread::sleep(std::time::Duration::from_millis(50));
            commits.push(take(commits.len()));
        }
        commits
    };
    let commits = std::thread::scope(|scope| {
        let taking = scope.spawn(taking);
        runtime.block_on(write(&store, &blocks));
        is_over.store(true, Ordering::Relaxed);
        taking.join().unwrap()
    });
    assert!(commits.is_sorted(), "{commits:?}");
    for number in 0..commits.len() {
        let restored = folder.path().join("restored");
        restore(&snapshot(number), &restored, options()).unwrap();
        runtime.block_on(compare(&restored, &blocks));
        fs::remove_dir_all(&restored).unwrap();
    }
    drop(store);
    let left: Vec<_> =
        fs::read_dir(folder.path().join("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

/// The restored index is the one of a store that was given the same blocks, and goes on like it.
async fn compare(restored: &Path, blocks: &[BlockChanges]) {
    let restored = EmbeddedStore::open(restored, options()).unwrap();
    let tip = restored.reader().find_tip().await.unwrap();
    let count = tip.map_or(0, |tip| usize::try_from(tip.number).unwrap() + 1);
    let folder = tempfile::tempdir().unwrap();
    let fresh = EmbeddedStore::open(folder.path(), options()).unwrap();
    write(&fresh, &blocks[..count]).await;
    assert_eq!(restored.reader().fingerprint().unwrap(), fresh.reader().fingerprint().unwrap(), "{count} blocks");
    let more = &blocks[count..(count + 5).min(blocks.len())];
    write(&restored, more).await;
    write(&fresh, more).await;
    assert_eq!(restored.reader().fingerprint().unwrap(), fresh.reader().fingerprint().unwrap(), "{count} blocks and 5");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_not_mixed_with_other_files_and_not_restored_if_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (data, target, empty) = (folder.path().join("data"), folder.path().join("target"), folder.path().join("empty"));
    let store = EmbeddedStore::open(&data, StoreOptions::default()).unwrap();
    leave_records(&store).await;
    store.snapshot(&target).unwrap();
    let again = store.snapshot(&target);
    assert!(matches!(again, Err(StoreError::NotEmpty { .. })), "{again:?}");
    let refused = restore(&target, &data, StoreOptions::default());
    assert!(matches!(refused, Err(StoreError::NotEmpty { .. })), "{refused:?}");
    drop(store);

    let journal = target.join("index/0.jnl");
    let whole = fs::read(&journal).unwrap();
    let mut damaged = whole.clone();
    damaged[2_000] ^= 1;
    fs::write(&journal, damaged).unwrap();
    let refused = restore(&target, &empty, StoreOptions::default());
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    fs::write(&journal, whole).unwrap();
    restore(&target, &empty, StoreOptions::default()).unwrap();
    let [ours, theirs] = [&data, &empty].map(|path| EmbeddedStore::open(path, StoreOptions::default()).unwrap());
    assert_eq!(ours.reader().fingerprint().unwrap(), theirs.reader().fingerprint().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_of_the_index_has_no_records_and_continues_like_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let [data, target, killed] = ["data", "target", "killed"].map(|name| folder.path().join(name));
    let (store, blocks) = (EmbeddedStore::open(&data, options()).unwrap(), blocks());
    write(&store, &blocks[..20]).await;
    let import = RecordImport { id: "one".to_owned(), source: "records.ndjson".to_owned(), is_complete: true };
    store.raw_records().save_import(Some(import)).await.unwrap();
    let commit = Store::snapshot(&store, &target, SnapshotContent::Index).await.unwrap().unwrap();
    assert!(inspect(&data_copy(&store, &folder.path().join("whole")), options()).unwrap().has_private_rows);
    let found = inspect(&target, options()).unwrap();
    assert!(!found.has_private_rows && found.commit == commit && found.tip.unwrap().number == 19, "{found:?}");

    // Killed after the first of two moves.
    fs::create_dir_all(killed.join("restore.tmp")).unwrap();
    fs::copy(target.join("durable-commit"), killed.join("durable-commit")).unwrap();
    assert!(!has_index(&killed));
    let restoration = Restoration::begin_beside_files(&killed).unwrap();
    restoration.finish(&target, options()).unwrap();
    assert!(has_index(&killed) && Restoration::begin_beside_files(&killed).is_err());

    let copied = EmbeddedStore::open(&killed, options()).unwrap();
    assert!(!killed.join("restore.tmp").exists());
    assert_eq!(copied.reader().fingerprint().unwrap(), store.reader().fingerprint().unwrap());
    for store in [&copied, &store] {
        let mut writer = store.writer();
        writer.revert_to(15).await.unwrap();
        for block in &blocks[16..] {
            writer.commit(vec![block.clone()], Undo::Keep { down_to: 0 }).await.unwrap();
        }
    }
    assert_eq!(copied.reader().fingerprint().unwrap(), store.reader().fingerprint().unwrap());
}

fn data_copy(store: &EmbeddedStore, into: &Path) -> PathBuf {
    store.snapshot(into).unwrap();
    into.to_owned()
}
