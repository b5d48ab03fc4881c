//! Moves the records of users to an index that takes the place of another.

use store::StoreError;

use crate::{
    engine::{Engine, View},
    keys::{Key, Table},
    meta::{self, RECORDS, SCHEMA, Versions},
    raw_records::delete_rows,
    verified_contracts, webhook_records,
};

/// Bytes of the rows that one commit takes over.
const BATCH_BYTES: usize = 4 << 20;

/// Copies all records to another index, in place of those that an interrupted copy has left there. Returns the number of rows.
pub(crate) fn take_over(from: &View, to: &Engine) -> Result<u64, StoreError> {
    let records = || Table::ALL.iter().copied().filter(|table| table.is_record());
    delete_rows(to, records().chain(verified_contracts::LISTED))?;
    let (mut batch, mut bytes, mut rows) = (to.batch(), 0, 0);
    for table in records() {
        for row in from.prefix(table, &Key::EMPTY) {
            let (key, value) = row?;
            bytes += key.len() + value.len();
            rows += 1;
            let key = Key::from_slice(&key).ok_or(StoreError::Corrupt("a key that is too long"))?;
            batch.put(table, &key, value);
            if bytes >= BATCH_BYTES {
                std::mem::replace(&mut batch, to.batch()).commit()?;
                bytes = 0;
            }
        }
    }
    // An index that has blocks begins at its own first block.
    if let (Some(binding), None) = (meta::find_binding(from)?, meta::find_binding(&to.view())?) {
        meta::put_binding(&mut batch, &binding);
    }
    webhook_records::wait_for_index(from, &mut batch)?;
    meta::put_versions(&mut batch, Versions { index: SCHEMA, records: RECORDS });
    batch.commit()?;
    verified_contracts::list_all(to)?;
    to.sync()?;
    Ok(rows)
}
