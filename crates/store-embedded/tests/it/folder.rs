//! Opening a data folder, and reading it after a restart.

use domain::{B256, ChainIdentity};
use store::{ChainReader, ChainWriter, StoreError, Undo};
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
