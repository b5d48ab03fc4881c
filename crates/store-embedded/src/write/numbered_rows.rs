use std::ops::Range;

use store::StoreError;

use crate::{
    engine::{Row, View},
    keys::{Key, Table, number_in_key},
};

const MISSING: StoreError = StoreError::Corrupt("a row of a table without gaps is missing");

/// The rows with these ids of a table without gaps. One that is missing is an error: the rows after it would have wrong ids.
pub(super) fn numbered_rows(
    view: &View,
    table: Table,
    ids: Range<u64>,
) -> impl Iterator<Item = Result<(u64, Row), StoreError>> {
    let mut rows = view.range(table, &Key::id(ids.start), &Key::id(ids.end));
    ids.map(move |id| {
        let (key, row) = rows.next().ok_or(MISSING)??;
        if number_in_key(&key, 0)? == id { Ok((id, row)) } else { Err(MISSING) }
    })
}
