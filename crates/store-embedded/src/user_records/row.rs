use domain::{ApiKey, ApiKeyId, KeyDigest};
use store::StoreError;

use crate::codec::{RowReader, RowWriter};

pub(super) fn write(key: &ApiKey) -> Vec<u8> {
    let mut row = RowWriter::with_capacity(128);
    row.bytes(key.digest.as_bytes());
    row.bytes(key.owner.as_slice());
    row.byte(u8::from(key.active));
    row.varint(key.requests_per_minute);
    row.varint(key.total_requests);
    row.varint(key.created_at);
    row.varint(key.last_used_at);
    text(&mut row, &key.prefix);
    text(&mut row, &key.label);
    row.finish()
}

pub(super) fn read(id: ApiKeyId, row: &[u8]) -> Result<ApiKey, StoreError> {
    let mut row = RowReader::new(row);
    Ok(ApiKey {
        id,
        digest: KeyDigest::new(row.array()?),
        owner: row.address()?,
        active: row.flag()?,
        requests_per_minute: row.varint()?,
        total_requests: row.varint()?,
        created_at: row.varint()?,
        last_used_at: row.varint()?,
        prefix: read_text(&mut row)?,
        label: read_text(&mut row)?,
    })
}

fn text(row: &mut RowWriter, text: &str) {
    row.varint(text.len() as u64);
    row.bytes(text.as_bytes());
}

fn read_text(row: &mut RowReader<'_>) -> Result<String, StoreError> {
    let length = row.varint()?;
    let bytes = row.bytes(length)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| StoreError::Corrupt("a text that is not UTF-8"))
}
