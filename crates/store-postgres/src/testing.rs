//! For tests of upgrades.

use crate::{
    OpenError, PostgresOptions, PostgresStore,
    migrations::{MIGRATIONS, Migrations},
};

/// Opens a database as the next version would, if that one takes more from blocks than this one.
///
/// # Errors
/// As of [`PostgresStore::open`].
pub async fn open_as_next_version(url: &str, options: PostgresOptions) -> Result<PostgresStore, OpenError> {
    let sql = [MIGRATIONS.sql, &["create table added_later (number int8)"]].concat();
    let oldest_index = u32::try_from(sql.len()).unwrap_or(u32::MAX);
    PostgresStore::open_with(url, options, Migrations { sql: &sql, oldest_index }).await
}
