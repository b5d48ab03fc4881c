//! Opening a data folder, and reading it after a restart.

use std::path::Path;

use domain::{B256, ChainIdentity};
use store::{ChainReader, ChainWriter, ContractDataWriter, Store, StoreError, Undo};
use store_conformance::RandomChain;
use store_embedded::{EmbeddedStore, StoreOptions};

const CHAIN: ChainIdentity = ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) };

#[test]
fn an_open_folder_cannot_be_opened_twice() {
    let folder = tempfile::tempdir().unwrap();
    let _open = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let second = EmbeddedStore::open(folder.path(), StoreOptions::default());
    assert!(matches!(second, Err(StoreError::InUse)), "{second:?}");
}

#[test]
fn a_folder_whose_creation_was_interrupted_is_created_again() {
    for version in [None, Some(&[][..]), Some(&[0; 4][..])] {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index");
        std::fs::create_dir(&index).unwrap();
        if let Some(content) = version {
            std::fs::write(index.join("version"), content).unwrap();
        }
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        assert_eq!(store.bind(CHAIN, None).unwrap(), 0, "{version:?}");
    }
}

#[test]
fn a_folder_belongs_to_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    {
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        assert_eq!(store.identity().unwrap(), None);
        assert_eq!(store.bind(CHAIN, None).unwrap(), 0);
    }
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.identity().unwrap(), Some(CHAIN));
    assert_eq!(store.bind(CHAIN, None).unwrap(), 0);
    let other_id = ChainIdentity { chain_id: 1, ..CHAIN };
    assert!(matches!(store.bind(other_id, None), Err(StoreError::OtherChain { .. })));
    let other_genesis = ChainIdentity { genesis_hash: B256::repeat_byte(2), ..CHAIN };
    assert!(matches!(store.bind(other_genesis, None), Err(StoreError::OtherChain { .. })));
}

#[test]
fn the_start_block_of_a_folder_cannot_change() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.bind(CHAIN, Some(1_000)).unwrap(), 1_000);
    assert_eq!(store.bind(CHAIN, None).unwrap(), 1_000);
    assert!(matches!(store.bind(CHAIN, Some(0)), Err(StoreError::OtherStart { stored: 1_000, requested: 0 })));
}

#[tokio::test]
async fn commits_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut chain = RandomChain::new(5);
    let genesis = chain.next_block(None);
    let next = chain.next_block(Some(&genesis.block));
    let (tip, fingerprint) = {
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let mut writer = store.writer();
        writer.commit(vec![genesis.clone(), next], Undo::Keep { down_to: 0 }).await.unwrap();
        (writer.tip().await.unwrap(), store.reader().fingerprint().unwrap())
    };
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.reader().find_tip().await.unwrap(), tip);
    assert_eq!(store.reader().fingerprint().unwrap(), fingerprint);
    let mut writer = store.writer();
    writer.revert_to(0).await.unwrap();
    assert_eq!(writer.tip().await.unwrap(), Some(genesis.block.id()));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (from, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if from.is_dir() {
            copy(&from, &to.join(name));
        } else {
            std::fs::copy(from, to.join(name)).unwrap();
        }
    }
}

fn journals(folder: &Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "jnl")).collect()
}

/// As after a crash when the journals were set aside.
fn set_aside(index: &Path) {
    std::fs::create_dir(index.join("replaying")).unwrap();
    for journal in journals(index) {
        std::fs::copy(&journal, index.join("replaying").join(journal.file_name().unwrap())).unwrap();
    }
}

#[tokio::test]
async fn journals_become_tables_when_a_folder_is_opened_also_after_a_crash_in_between() {
    let parent = tempfile::tempdir().unwrap();
    let written = parent.path().join("written");
    let mut chain = RandomChain::new(11);
    // Small buffers, so that older rows are in tables already.
    let options =
        |replayed_bytes| StoreOptions { replayed_bytes, write_buffer_bytes: 100 << 10, ..StoreOptions::default() };
    let (tip, fingerprint) = {
        let store = EmbeddedStore::open(&written, options(u64::MAX)).unwrap();
        let (mut writer, mut last) = (store.writer(), None);
        for _ in 0..120 {
            let block = chain.next_block(last.as_ref());
            last = Some(block.block.clone());
            writer.commit(vec![block], Undo::Keep { down_to: 0 }).await.unwrap();
        }
        // Rows that were deleted stay so.
        writer.revert_to(110).await.unwrap();
        while writer.rank_holders(100).await.unwrap() > 0 {}
        (writer.tip().await.unwrap(), store.reader().fingerprint().unwrap())
    };
    type Prepare = fn(&Path, &Path);
    let crash: [(&str, Prepare); 4] = [
        ("before it begins", |_, _| ()),
        ("before the journals are removed", |index, _| set_aside(index)),
        ("before the tables are written", |index, _| {
            set_aside(index);
            journals(index).iter().for_each(|journal| std::fs::remove_file(journal).unwrap());
        }),
        ("before the journals that were set aside are deleted", |index, written| {
            let folder = index.parent().unwrap();
            drop(EmbeddedStore::open(folder, StoreOptions { replayed_bytes: 0, ..StoreOptions::default() }).unwrap());
            set_aside(&written.join("index"));
            copy(&written.join("index/replaying"), &index.join("replaying"));
            std::fs::remove_dir_all(written.join("index/replaying")).unwrap();
        }),
    ];
    for (number, (name, prepare)) in crash.into_iter().enumerate() {
        let folder = parent.path().join(number.to_string());
        copy(&written, &folder);
        let index = folder.join("index");
        prepare(&index, &written);
        for replayed_bytes in [0, u64::MAX, 0] {
            let store = EmbeddedStore::open(&folder, options(replayed_bytes)).unwrap();
            assert_eq!(store.reader().fingerprint().unwrap(), fingerprint, "{name}");
            assert_eq!(store.reader().find_tip().await.unwrap(), tip, "{name}");
            assert!(!index.join("replaying").exists(), "{name}");
        }
        let store = EmbeddedStore::open(&folder, options(0)).unwrap();
        let mut writer = store.writer();
        writer.revert_to(20).await.unwrap();
        assert_eq!(writer.tip().await.unwrap().map(|tip| tip.number), Some(20), "{name}");
        assert_eq!(Store::check(&store).await.unwrap().faults, []);
    }
}
