//! Verified contracts: the conformance suite on the embedded store, and restarts.

use std::sync::Arc;

use domain::PageRequest;
use store::VerifiedContracts;
use store_conformance::{VerifiedSubject, run_verified_contracts};
use store_embedded::{EmbeddedStore, StoreOptions};

fn subject(store: &EmbeddedStore) -> VerifiedSubject {
    VerifiedSubject {
        writer: Box::new(store.writer()),
        reader: Arc::new(store.reader()),
        records: Arc::new(store.verified_contracts()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verified_contracts_pass_the_suite_and_survive_a_restart() {
    for seed in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let before = {
            let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
            run_verified_contracts(subject(&store), seed).await;
            store.verified_contracts().list_verified(PageRequest::newest(1_000)).await.unwrap()
        };
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let records = store.verified_contracts();
        assert_eq!(records.list_verified(PageRequest::newest(1_000)).await.unwrap(), before);
        let first = &before.items[0];
        let found = records.find_verified(first.address, first.code_hash).await.unwrap().unwrap();
        assert_eq!((&found.code.name, found.code.sources.len()), (&first.name, 2));
    }
}
