//! For tests of upgrades, and of what is kept.

use crate::{
    OpenError, PostgresOptions, PostgresStore,
    migrations::{MIGRATIONS, Migrations, REFILL},
};

/// Opens a database as the next version would, if that one takes more from blocks than this one.
///
/// # Errors
/// As of [`PostgresStore::open`].
pub async fn open_as_next_version(url: &str, options: PostgresOptions) -> Result<PostgresStore, OpenError> {
    let added = format!("{REFILL}\ncreate table added_later (number int8)");
    let sql = [MIGRATIONS.0, &[&added]].concat();
    PostgresStore::open_with(url, options, Migrations(&sql)).await
}

/// The memory of what was found in several lists, in ids.
#[must_use]
pub fn kept_ids(store: &PostgresStore) -> u64 {
    store.intersections().weight()
}
