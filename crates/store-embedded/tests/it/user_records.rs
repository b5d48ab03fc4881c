//! User records: the conformance suite on the embedded store, and restarts.

use std::sync::Arc;

use domain::{Address, KeyDigest, KeyUse, NewApiKey};
use store::{AddKeyError, ChainWriter, Undo, UserRecords};
use store_conformance::{RandomChain, run_user_records};
use store_embedded::{EmbeddedStore, StoreOptions};

fn new_key(number: u8, proof: u64) -> NewApiKey {
    NewApiKey {
        digest: KeyDigest::new([number; 32]),
        owner: Address::repeat_byte(1),
        prefix: format!("expl_{number}"),
        label: String::new(),
        requests_per_minute: 100,
        created_at: 5,
        proof: Some(proof),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn user_records_pass_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    run_user_records(Arc::new(store.user_records())).await;
}

#[tokio::test]
async fn keys_uses_and_used_proofs_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let key = {
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let records = store.user_records();
        let key = records.add_key(new_key(1, 77)).await.unwrap();
        records.record_key_uses(vec![KeyUse { id: key.id, requests: 9, last_used_at: 12 }]).await.unwrap();
        key
    };
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let records = store.user_records();
    let found = records.find_key_by_digest(key.digest).await.unwrap().unwrap();
    assert_eq!((found.id, found.total_requests, found.last_used_at), (key.id, 9, 12));
    assert!(matches!(records.add_key(new_key(2, 77)).await, Err(AddKeyError::ProofUsed)));
    assert_eq!(records.add_key(new_key(2, 78)).await.unwrap().id, key.id + 1);
}

#[tokio::test]
async fn a_reorg_does_not_change_user_records() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let (mut writer, records, mut chain) = (store.writer(), store.user_records(), RandomChain::new(3));
    let genesis = chain.next_block(None);
    let next = chain.next_block(Some(&genesis.block));
    let keep = Undo::Keep { down_to: 0 };
    writer.commit(vec![genesis.clone()], keep).await.unwrap();
    let fingerprint = store.reader().fingerprint().unwrap();
    writer.commit(vec![next], keep).await.unwrap();
    let key = records.add_key(new_key(1, 1)).await.unwrap();
    writer.revert_to(0).await.unwrap();
    assert_eq!(records.find_key(key.id).await.unwrap(), Some(key));
    assert_eq!(store.reader().fingerprint().unwrap(), fingerprint);
}
