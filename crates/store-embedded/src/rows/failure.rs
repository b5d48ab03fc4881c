use alloy_primitives::{B256, Bytes};
use domain::{FailureSource, TransactionFailure};
use store::{RowNumber, StoreError};

use crate::codec::{RowReader, RowWriter};

/// The block comes first, since the transaction may move to another one.
pub(crate) fn failure_to_row(block: &B256, failure: &TransactionFailure) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(128);
    row.bytes(block.as_slice());
    row.byte(failure.source.to_number());
    row.text(&failure.error);
    if let Some(data) = &failure.data {
        row.bytes(data);
    }
    row.finish()
}

pub(crate) fn failure_from_row(row: &[u8]) -> Result<(B256, TransactionFailure), StoreError> {
    let mut row = RowReader::new(row);
    let block = row.hash()?;
    let source = FailureSource::from_number(row.byte()?)?;
    let error = row.text()?;
    let data = (!row.is_empty()).then(|| Bytes::copy_from_slice(row.rest()));
    Ok((block, TransactionFailure { error, data, source }))
}
