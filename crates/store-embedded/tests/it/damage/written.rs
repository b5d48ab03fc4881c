//! A data folder with known content.

use store::StoreError;
use store_conformance::{DurableData, WrittenData};
use store_embedded::{EmbeddedStore, StoreOptions};

use super::image::Image;

/// Small buffers, so that tables are flushed.
pub(super) fn options() -> StoreOptions {
    StoreOptions { write_buffer_bytes: 100 << 10, cache_bytes: 4 << 20, ..StoreOptions::default() }
}

/// Writes a folder and returns its files while the store is still open.
pub(super) fn write_folder() -> (WrittenData, Image) {
    write_with(options())
}

/// The same, with everything in the journal only.
pub(super) fn write_folder_without_tables() -> (WrittenData, Image) {
    write_with(StoreOptions::default())
}

fn write_with(options: StoreOptions) -> (WrittenData, Image) {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), options).unwrap();
    let fingerprint = || store.reader().fingerprint();
    let written = block_on(WrittenData::write(&store, Some(&fingerprint), None, |_| {})).unwrap();
    let image = Image::of(folder.path());
    (written, image)
}

/// Panics on wrong data; returns an error that the store reported.
pub(super) fn check(written: &WrittenData, store: &EmbeddedStore, durable: &DurableData) -> Result<(), StoreError> {
    block_on(written.check(store, &|| store.reader().fingerprint(), durable))
}

pub(super) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
