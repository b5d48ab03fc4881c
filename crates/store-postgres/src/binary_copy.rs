//! New rows, in the binary format of COPY.

use std::pin::pin;

use bytes::{BufMut, Bytes, BytesMut};
use deadpool_postgres::Transaction;
use futures::SinkExt;
use store::{BoxError, StoreError};
use tokio_postgres::types::{IsNull, ToSql, Type};

use crate::error::store_error;

/// Bytes that are sent at once.
const SEND_BYTES: usize = 256 * 1024;

/// Rows in the binary format of COPY.
pub(crate) struct Encoder {
    bytes: BytesMut,
}

impl Encoder {
    fn new() -> Self {
        let mut bytes = BytesMut::with_capacity(SEND_BYTES + 4096);
        bytes.put_slice(b"PGCOPY\n\xff\r\n\0");
        // No flags, no extension of the header.
        bytes.put_u64(0);
        Self { bytes }
    }

    /// Appends a row: the columns of the table, in their order.
    pub(crate) fn row(&mut self, columns: &[(Type, &(dyn ToSql + Sync))]) -> Result<(), BoxError> {
        self.bytes.put_i16(i16::try_from(columns.len())?);
        for (of_type, value) in columns {
            let start = self.bytes.len();
            self.bytes.put_i32(-1);
            if let IsNull::No = value.to_sql_checked(of_type, &mut self.bytes)? {
                let length = i32::try_from(self.bytes.len() - start - 4)?;
                if let Some(place) = self.bytes.get_mut(start..start + 4) {
                    place.copy_from_slice(&length.to_be_bytes());
                }
            }
        }
        Ok(())
    }
}

/// Copies rows into a table. `write` encodes one row.
pub(crate) async fn copy<R>(
    tx: &Transaction<'_>,
    table: &str,
    rows: &[R],
    write: impl Fn(&R, &mut Encoder) -> Result<(), BoxError>,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let statement =
        tx.prepare_cached(&format!("copy {table} from stdin (format binary)")).await.map_err(store_error)?;
    let mut sink = pin!(tx.copy_in::<_, Bytes>(&statement).await.map_err(store_error)?);
    let mut encoder = Encoder::new();
    for row in rows {
        write(row, &mut encoder).map_err(StoreError::Backend)?;
        if encoder.bytes.len() >= SEND_BYTES {
            sink.send(encoder.bytes.split().freeze()).await.map_err(store_error)?;
        }
    }
    encoder.bytes.put_i16(-1);
    sink.send(encoder.bytes.freeze()).await.map_err(store_error)?;
    sink.as_mut().finish().await.map_err(store_error)?;
    Ok(())
}
