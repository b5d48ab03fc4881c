//! Verified contracts: the suite of the `store` crate on the embedded store, and what a restart leaves of it.

use std::sync::Arc;

use domain::PageRequest;
use store::VerifiedContracts;
use store::conformance::run_verified_contracts;
use store_embedded::{EmbeddedStore, StoreOptions};

#[tokio::test(flavor = "multi_thread")]
async fn verified_contracts_stand_the_suite_and_outlast_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let before = {
        let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
        let records = store.verified_contracts();
        run_verified_contracts(Arc::new(records.clone())).await;
        records.list_verified(PageRequest::newest(100)).await.unwrap()
    };
    let store = EmbeddedStore::open(folder.path(), StoreOptions::default()).unwrap();
    let records = store.verified_contracts();
    assert_eq!(records.list_verified(PageRequest::newest(100)).await.unwrap(), before);
    let first = &before.items[0];
    let found = records.find_verified(first.address).await.unwrap().unwrap();
    assert_eq!((&found.summary, found.sources.len()), (first, 2));
}
