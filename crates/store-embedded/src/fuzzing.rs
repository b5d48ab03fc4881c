//! Entry points of the fuzz targets: rows, chunks and lists decoded from arbitrary bytes.

pub(crate) mod round_trip;

use self::round_trip::reads_what_it_writes;
pub use crate::lists::fuzzing::{chunk, cursors};
use crate::{rows, undo::UndoRecord, user_records, verified_contracts, webhook_records};

type Codec = fn(&[u8]);

/// One codec for each kind of row. Appended to only: the first byte of an input in the corpus selects by position.
const CODECS: [Codec; 25] = [
    |row| reads_what_it_writes(row, rows::account_from_row, rows::account_to_row),
    |row| reads_what_it_writes(row, rows::AddressRow::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::BlockRow::from_row, rows::BlockRow::to_row),
    |row| reads_what_it_writes(row, rows::CreationRow::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::PoolRow::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::TokenRow::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::metadata_from_row, rows::metadata_to_row),
    |row| reads_what_it_writes(row, rows::AuditRow::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::balance_from_row, rows::balance_to_row),
    |row| reads_what_it_writes(row, rows::TradeRow::from_row, rows::TradeRow::to_row),
    |row| reads_what_it_writes(row, rows::TransactionRow::from_row, rows::TransactionRow::to_row),
    |row| reads_what_it_writes(row, rows::TransferRow::from_row, rows::TransferRow::to_row),
    undo_record,
    user_records::fuzzing::api_key,
    webhook_records::fuzzing::webhook,
    webhook_records::fuzzing::delivery,
    webhook_records::fuzzing::event,
    verified_contracts::fuzzing::code,
    verified_contracts::fuzzing::deployment,
    |row| reads_what_it_writes(row, rows::LogRow::from_row, rows::LogRow::to_row),
    |row| reads_what_it_writes(row, rows::LogSource::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::NftRow::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::ApprovalRow::from_row, |value| value.to_row()),
    |row| reads_what_it_writes(row, rows::nft_metadata_from_row, rows::nft_metadata_to_row),
    |row| reads_what_it_writes(row, rows::CreditRow::from_row, rows::CreditRow::to_row),
];

/// The first byte selects a kind of row, the rest is the row.
pub fn rows(data: &[u8]) {
    let Some((kind, row)) = data.split_first() else { return };
    if let Some(codec) = CODECS.get(usize::from(*kind)) {
        codec(row);
    }
}

fn undo_record(row: &[u8]) {
    let Ok(record) = UndoRecord::from_row(row) else { return };
    let canonical = record.to_row();
    assert!(canonical.len() <= row.len());
    let again = UndoRecord::from_row(&canonical).expect("a written row can be read");
    assert_eq!(again.grown_lists, record.grown_lists);
    assert_eq!(again.overwritten.len(), record.overwritten.len());
    assert_eq!(again.to_row(), canonical);
}
