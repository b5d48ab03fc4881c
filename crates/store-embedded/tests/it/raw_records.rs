//! Copies of all records between two data folders.

use store_conformance::run_raw_records;
use store_embedded::{EmbeddedStore, StoreOptions};

#[tokio::test(flavor = "multi_thread")]
async fn all_records_are_copied_to_another_folder() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [source, target] = folders.each_ref().map(|folder| EmbeddedStore::open(folder.path(), StoreOptions::default()));
    run_raw_records(&source.unwrap(), &target.unwrap()).await;
}
