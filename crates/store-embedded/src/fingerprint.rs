//! A digest of the whole index, to compare two states.

use alloy_primitives::{B256, Keccak256};
use store::StoreError;

use crate::{
    keys::{Key, Table},
    reader::EmbeddedReader,
};

impl EmbeddedReader {
    /// Digests every row of the index that is determined by the chain: not undo records, and not data fetched or to be
    /// fetched from the node.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn fingerprint(&self) -> Result<B256, StoreError> {
        let view = self.engine().view();
        let mut digest = Keccak256::new();
        for table in Table::ALL.iter().copied().filter(|table| table.is_chain_data()) {
            for row in view.prefix(table, &Key::EMPTY) {
                let (key, value) = row?;
                digest.update([table as u8]);
                digest.update((key.len() as u64).to_be_bytes());
                digest.update(&key);
                digest.update((value.len() as u64).to_be_bytes());
                digest.update(&value);
            }
        }
        Ok(digest.finalize())
    }
}
