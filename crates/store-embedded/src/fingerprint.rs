//! A digest of all that the index holds, to see that two states are one and the same.

use alloy_primitives::{B256, Keccak256};
use store::StoreError;

use crate::keys::{Key, Table};
use crate::reader::EmbeddedReader;

impl EmbeddedReader {
    /// Digests every row of the index. What is not of the chain's own saying stays out: undo records, and what was or is
    /// to be asked of the node.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn fingerprint(&self) -> Result<B256, StoreError> {
        let view = self.engine().view();
        let mut digest = Keccak256::new();
        for table in Table::ALL.iter().copied().filter(|table| table.is_of_the_chain()) {
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
