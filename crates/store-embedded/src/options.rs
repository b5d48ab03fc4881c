use store::OlderIndex;

use crate::engine::EngineOptions;

/// Resource limits of the store.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// Bytes of the engine's cache of table blocks.
    pub cache_bytes: u64,
    /// Bytes of the decoded rows and of the checkpoints that all readers share.
    pub row_cache_bytes: u64,
    /// Bytes of the write buffer of each of four groups of tables, before it is flushed. A data folder keeps the size
    /// that it was created with.
    pub write_buffer_bytes: u64,
    /// Number of list tails, and of address ids, that the writer caches. They are its working state: it changes them in
    /// memory, without a lock.
    pub writer_cache_entries: usize,
    /// Maximum open file descriptors of the store.
    pub descriptors: usize,
    pub older_index: OlderIndex,
    /// Journals of more bytes are written as tables when the store is opened, instead of being replayed entry by entry.
    pub replayed_bytes: u64,
}

impl StoreOptions {
    pub(crate) fn engine(&self) -> EngineOptions {
        EngineOptions {
            cache_bytes: self.cache_bytes,
            write_buffer_bytes: self.write_buffer_bytes,
            descriptors: self.descriptors,
            replayed_bytes: self.replayed_bytes,
        }
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 128 << 20,
            row_cache_bytes: 24 << 20,
            write_buffer_bytes: 64 << 20,
            writer_cache_entries: 400_000,
            descriptors: 1_024,
            older_index: OlderIndex::default(),
            replayed_bytes: 4 << 20,
        }
    }
}
