//! Fixtures are data folders as released versions have written them.
//!
//! Before a change of `SCHEMA` or `RECORDS`, the version that ends writes its fixture:
//! `EXPLORER_FIXTURE=DIR cargo test -p store-embedded --lib -- --ignored write_fixture`, then
//! `tar cz -C DIR durable-commit index > tests/fixtures/schema-N-records-M.tar.gz`.

use std::{collections::BTreeSet, fs};

use domain::{Address, B256, Block, ChainIdentity};
use store::{
    ChainReader, ChainWriter, Record, RecordKind, Store, Undo, UserRecords, VerifiedContracts, WebhookLimits,
    WebhookRecords,
};
use store_conformance::{RandomChain, leave_records};

use super::*;
use crate::{
    EmbeddedStore, StoreOptions,
    keys::{Key, Table},
    testing::age_index,
};

const CHAIN: ChainIdentity = ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) };
/// With their schemas.
const FIXTURES: [(&str, u32); 1] = [("schema-1-records-1", 1)];

fn open(folder: &Path, older_index: OlderIndex) -> Result<EmbeddedStore, StoreError> {
    EmbeddedStore::open(folder, StoreOptions { older_index, ..StoreOptions::default() })
}

fn fixture(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let archive = format!("{}/tests/fixtures/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let archive = flate2::read::GzDecoder::new(fs::File::open(archive).unwrap());
    tar::Archive::new(archive).unpack(folder.path()).unwrap();
    folder
}

async fn dump(store: &EmbeddedStore) -> Vec<Record> {
    let (raw, mut records) = (Store::raw_records(store), Vec::new());
    for kind in RecordKind::ALL {
        let mut after = None;
        loop {
            let batch = raw.read_records(kind, after, 1_000, u64::MAX).await.unwrap();
            let Some(last) = batch.last() else { break };
            after = Some(last.position());
            records.extend(batch);
        }
    }
    records
}

/// Every question about a record finds it, and a message that was queued can be sent.
async fn answers(store: &EmbeddedStore, records: &[Record]) {
    let (keys, verified) = (store.user_records(), store.verified_contracts());
    let hooks = Store::webhook_records(store, WebhookLimits::default());
    for record in records {
        match record {
            Record::ApiKey(key) => assert_eq!(keys.find_key_by_digest(key.digest).await.unwrap().as_ref(), Some(key)),
            Record::VerifiedContract(contract) => {
                let found = verified.find_verified(contract.address, contract.code_hash).await.unwrap();
                // The number of a removed contract stays taken, and names no contract.
                let is_removed = contract.address == Address::ZERO;
                assert_eq!(found.map(|found| found.code.code_hash), (!is_removed).then_some(contract.code_hash));
            }
            Record::Webhook(hook) => assert_eq!(hooks.find_webhook(hook.id).await.unwrap().as_ref(), Some(hook)),
            Record::Delivery(record) => {
                let delivery = &record.delivery;
                let page = hooks.find_delivery(delivery.webhook, delivery.id).await.unwrap();
                assert!(page.unwrap().number >= delivery.number);
            }
            _ => {}
        }
    }
    let mut claimed = 0;
    for queue in hooks.list_queues().await.unwrap() {
        claimed += hooks.claim(queue.webhook, 5, queue.due, queue.due + 1).await.unwrap().len();
    }
    assert!(claimed > 0, "a message is due");
}

/// Each fixture, as it is and as one with an older index. True if the index can be read.
fn folders() -> Vec<(tempfile::TempDir, bool)> {
    let mut folders = Vec::new();
    for (name, schema) in FIXTURES {
        folders.push((fixture(name), schema == SCHEMA));
        let aged = fixture(name);
        age_index(aged.path()).unwrap();
        folders.push((aged, false));
    }
    folders
}

#[tokio::test(flavor = "multi_thread")]
async fn the_records_of_every_released_version_are_kept() {
    for (folder, is_current) in folders() {
        let opened = open(folder.path(), OlderIndex::Refuse);
        match is_current {
            true => assert!(opened.is_ok(), "{opened:?}"),
            false => assert!(matches!(opened, Err(StoreError::OlderSchema { .. })), "{opened:?}"),
        }
        drop(opened);
        let before = dump(&open(folder.path(), OlderIndex::Leave).unwrap()).await;
        let kinds: BTreeSet<RecordKind> = before.iter().map(|record| record.position().kind()).collect();
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), RecordKind::ALL);
        let store = open(folder.path(), OlderIndex::Replace).unwrap();
        let records = dump(&store).await;
        assert!(records == before, "{} and {} records", before.len(), records.len());
        answers(&store, &records).await;
        assert_eq!(store.identity().unwrap(), Some(CHAIN));
        let tip = store.reader().find_tip().await.unwrap();
        let waits = store.webhook_records().progress().await.unwrap().copied;
        assert_eq!((tip.is_some(), waits), (is_current, !is_current));

        // The chain is indexed from its first block on.
        if !is_current {
            let mut chain = RandomChain::new(5);
            let first = chain.next_block(None);
            store.writer().commit(vec![first.clone()], Undo::Keep { down_to: 0 }).await.unwrap();
            drop(store);
            let store = open(folder.path(), OlderIndex::Refuse).unwrap();
            assert_eq!(store.reader().find_tip().await.unwrap(), Some(first.block.id()));
            assert!(dump(&store).await == before);
        }
    }
}

/// Fills a new index with some blocks, beside the one of the folder. Returns the newest.
async fn fill(folder: &Path, chain: ChainIdentity) -> Block {
    let store = Reindex::of(folder).open(StoreOptions::default()).unwrap();
    store.bind(chain, None).unwrap();
    let mut random = RandomChain::new(7);
    let mut newest = None;
    for _ in 0..5 {
        let next = random.next_block(newest.as_ref());
        newest = Some(next.block.clone());
        store.writer().commit(vec![next], Undo::Keep { down_to: 0 }).await.unwrap();
    }
    store.sync().unwrap();
    newest.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_filled_beside_one_of_any_version_takes_over_its_records() {
    for (folder, _) in folders() {
        let before = dump(&open(folder.path(), OlderIndex::Leave).unwrap()).await;
        let newest = fill(folder.path(), CHAIN).await;
        let reindex = Reindex::of(folder.path());
        assert!(dump(&open(folder.path(), OlderIndex::Leave).unwrap()).await == before);
        assert!(reindex.folder().exists(), "only an explorer that indexes takes it");
        reindex.mark_ready().unwrap();

        let store = open(folder.path(), OlderIndex::Replace).unwrap();
        assert_eq!(store.reader().find_tip().await.unwrap(), Some(newest.id()));
        assert!(dump(&store).await == before);
        answers(&store, &before).await;
        assert!(store.webhook_records().progress().await.unwrap().copied);
        assert!(!reindex.folder().exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_was_filled_for_another_chain_or_is_in_use_is_not_taken() {
    let folder = fixture(FIXTURES[0].0);
    age_index(folder.path()).unwrap();
    fill(folder.path(), ChainIdentity { chain_id: 57, ..CHAIN }).await;
    let refused = open(folder.path(), OlderIndex::Replace);
    let Err(StoreError::UnusableReindex { reason, .. }) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("another chain, with id 57"), "{reason}");
    Reindex::of(folder.path()).remove().unwrap();

    let filled = Reindex::of(folder.path()).open(StoreOptions::default()).unwrap();
    let refused = open(folder.path(), OlderIndex::Replace);
    assert!(matches!(refused, Err(StoreError::UnusableReindex { .. })), "{refused:?}");
    assert!(matches!(Reindex::of(folder.path()).remove(), Err(StoreError::InUse)));
    drop(filled);
    assert!(dump(&open(folder.path(), OlderIndex::Leave).unwrap()).await.len() > 10, "nothing is lost");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes a fixture of this version"]
async fn write_fixture() {
    let folder = std::env::var("EXPLORER_FIXTURE").unwrap();
    let options = StoreOptions { write_buffer_bytes: 100 << 10, ..StoreOptions::default() };
    let store = EmbeddedStore::open(folder.as_ref(), options).unwrap();
    store.bind(CHAIN, None).unwrap();
    leave_records(&store).await;
    store.sync().unwrap();
}

fn folder_with(versions: Versions) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), OlderIndex::Refuse).unwrap());
    let engine = Engine::open(folder.path(), StoreOptions::default().engine()).unwrap();
    let mut batch = engine.batch();
    meta::put_versions(&mut batch, versions);
    batch.commit().unwrap();
    folder
}

#[test]
fn data_of_a_newer_version_is_rejected_and_not_changed() {
    const ALL: [OlderIndex; 3] = [OlderIndex::Refuse, OlderIndex::Replace, OlderIndex::Leave];
    let newer = folder_with(Versions { index: SCHEMA + 1, records: RECORDS });
    for older in ALL {
        let opened = open(newer.path(), older);
        let Err(StoreError::NewerSchema { stored, known }) = opened else { panic!("{opened:?}") };
        assert_eq!((stored, known), (SCHEMA + 1, SCHEMA));
    }
    for index in [SCHEMA, SCHEMA - 1] {
        let newer = folder_with(Versions { index, records: RECORDS + 1 });
        for older in ALL {
            let opened = open(newer.path(), older);
            let Err(StoreError::NewerRecords { stored, known }) = opened else { panic!("{opened:?}") };
            assert_eq!((stored, known), (RECORDS + 1, RECORDS));
        }
    }
}

#[test]
fn an_older_index_is_replaced_only_if_that_is_wanted() {
    let folder = folder_with(Versions { index: SCHEMA - 1, records: RECORDS });
    let opened = open(folder.path(), OlderIndex::Refuse);
    assert!(matches!(opened, Err(StoreError::OlderSchema { .. })), "{opened:?}");
    let index = |store: EmbeddedStore| meta::find_versions(&store.reader().engine().view()).unwrap().unwrap().index;
    assert_eq!(index(open(folder.path(), OlderIndex::Leave).unwrap()), SCHEMA - 1);
    assert_eq!(index(open(folder.path(), OlderIndex::Replace).unwrap()), SCHEMA);
    assert_eq!(index(open(folder.path(), OlderIndex::Refuse).unwrap()), SCHEMA);
}

#[test]
fn records_are_migrated_one_version_at_a_time() {
    let works: Step = |_, batch| {
        batch.put(Table::ApiKey, &Key::id(7), b"of the next version".to_vec());
        Ok(())
    };
    let fails: Step = |_, _| Err(StoreError::Corrupt("a key that cannot be read"));
    let folder = folder_with(Versions { index: SCHEMA - 1, records: 1 });
    let engine = Engine::open(folder.path(), StoreOptions::default().engine()).unwrap();
    let versions = || meta::find_versions(&engine.view()).unwrap().unwrap();

    assert!(migrate_records(&engine, versions(), &[works, fails]).is_err());
    assert_eq!(versions(), Versions { index: SCHEMA - 1, records: 2 });
    assert!(engine.view().get(Table::ApiKey, &Key::id(7)).unwrap().is_some());
    migrate_records(&engine, versions(), &[fails, works]).unwrap();
    assert_eq!(versions().records, 3, "a step that is done is not repeated");
}
