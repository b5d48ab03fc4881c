//! Folders that earlier versions have written: what users left there is kept.
//!
//! After a change of `SCHEMA` or `RECORDS`, the last version before it writes the fixture of the schema that ends:
//! `EXPLORER_FIXTURE=DIR cargo test -p store-embedded --test it -- --ignored write_fixture`, then
//! `tar cz -C DIR durable-commit index > tests/fixtures/schema-N-records-M.tar.gz`.

use std::{collections::BTreeMap, fs, path::Path};

use domain::{Address, B256, Block, ChainIdentity};
use store::{
    ChainReader, ChainWriter, OlderIndex, Record, RecordKind, Store, StoreError, Undo, UserRecords, VerifiedContracts,
    WebhookLimits, WebhookRecords,
    conformance::{RandomChain, leave_records},
};
use store_embedded::{EmbeddedStore, Reindex, StoreOptions};

const CHAIN: ChainIdentity = ChainIdentity { chain_id: 56, genesis_hash: B256::repeat_byte(1) };
/// The fixtures and their schemas. Until 7, records had no version of their own.
const FIXTURES: [(&str, u32); 5] =
    [("schema-4", 4), ("schema-5", 5), ("schema-6", 6), ("schema-7", 7), ("schema-7-records-1", 7)];

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
    let (transfer, mut records) = (Store::record_transfer(store), Vec::new());
    for kind in RecordKind::ALL {
        let mut after = None;
        loop {
            let batch = transfer.read_records(kind, after, 1_000, u64::MAX).await.unwrap();
            let Some(last) = batch.last() else { break };
            after = Some(last.position());
            records.extend(batch);
        }
    }
    records
}

fn counts(records: &[Record]) -> BTreeMap<RecordKind, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.position().kind()).or_default() += 1;
    }
    counts
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

#[tokio::test(flavor = "multi_thread")]
async fn the_records_of_every_earlier_schema_are_kept() {
    for (name, schema) in FIXTURES {
        let folder = fixture(name);
        let (before, is_current) = {
            let refused = open(folder.path(), OlderIndex::Refuse);
            let is_current = refused.is_ok();
            assert!(is_current || matches!(refused, Err(StoreError::OlderSchema { stored, .. }) if stored == schema));
            drop(refused);
            (dump(&open(folder.path(), OlderIndex::Leave).unwrap()).await, is_current)
        };
        println!("{name} {} {:?}", before.len(), counts(&before));
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
async fn an_index_that_was_filled_beside_one_of_any_schema_takes_over_its_records() {
    for (name, _) in FIXTURES {
        let folder = fixture(name);
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
    let folder = fixture("schema-4");
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
