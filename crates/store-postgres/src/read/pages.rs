//! Pages of lists. The first column of their rows is the total, the second one is null if the page is empty.

use domain::{BlockRange, Page};
use store::StoreError;
use tokio_postgres::Row;

use crate::rows::{RowExt, clamped};

/// The items of a page. Without rows, the list is empty.
pub(super) fn page_of<T>(rows: &[Row], item: impl Fn(&Row) -> Result<T, StoreError>) -> Result<Page<T>, StoreError> {
    let Some(first) = rows.first() else { return Ok(Page::empty(0)) };
    let total = first.u64(0)?;
    let mut items = Vec::with_capacity(rows.len());
    for row in rows {
        if row.value::<Option<i64>>(1)?.is_some() {
            items.push(item(row)?);
        }
    }
    Ok(Page { items, total })
}

/// Both ends of a range.
pub(super) fn clamped_range(range: BlockRange) -> (i64, i64) {
    (clamped(range.from.unwrap_or(0)), clamped(range.to.unwrap_or(u64::MAX)))
}

/// A page whose ids are known.
pub(super) const KNOWN_PAGE: &str = "select $1::int8 as total, $2::int8[] as ids";
