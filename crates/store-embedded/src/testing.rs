//! For tests of upgrades.

use std::path::Path;

use store::StoreError;

use crate::{
    StoreOptions,
    engine::Engine,
    meta::{self, RECORDS, SCHEMA, Versions},
};

/// Makes the index of a folder look as if the version before had written it.
///
/// # Errors
/// If the folder cannot be opened.
pub fn age_index(data: &Path) -> Result<(), StoreError> {
    let engine = Engine::open(data, StoreOptions::default().engine())?;
    let mut batch = engine.batch();
    meta::put_versions(&mut batch, Versions { index: SCHEMA - 1, records: RECORDS });
    batch.commit_durably()
}
