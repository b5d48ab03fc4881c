//! The memory of the process, divided between its parts.

use anyhow::bail;

use super::options::options;

const MEGABYTE: u64 = 1 << 20;
const MIN_MEGABYTES: u64 = 96;
const DEFAULT_MEGABYTES: u64 = 1_024;
/// Memory of an idle compiler process.
const IDLE_COMPILER: u64 = 200 * MEGABYTE;
/// Memory of one writer cache entry: the end of a list, the id of an address and that of a topic.
const BYTES_PER_ENTRY: u64 = 400;

options! {
    /// How much memory the process uses.
    pub(crate) struct MemoryOptions {
        /// Megabytes of memory for caches, buffers and idle compilers [default: 1024]
        #[arg(long, env = "EXPLORER_MEMORY", value_name = "MB")]
        pub(crate) memory: Option<u64>,
    }
    only in the file {
        /// Megabytes of the memory for the response cache, for measurements.
        pub(crate) response_cache: Option<u64>,
    }
}

impl MemoryOptions {
    pub(super) fn budget(&self) -> anyhow::Result<MemoryBudget> {
        MemoryBudget::new(self.memory, self.response_cache)
    }
}

/// Memory for caches and buffers that grow with the chain and its traffic. The rest of the program needs little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryBudget {
    /// Without idle compilers.
    bytes: u64,
    response_cache: u64,
    idle_compilers: u64,
}

/// The store's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreMemory {
    /// The engine's cache.
    pub(crate) cache_bytes: u64,
    /// Decoded rows and checkpoints, shared by all readers.
    pub(crate) row_cache_bytes: u64,
    /// Size of each of the four write buffers.
    pub(crate) write_buffer_bytes: u64,
    pub(crate) writer_cache_entries: usize,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::divide(DEFAULT_MEGABYTES * MEGABYTE)
    }
}

impl MemoryBudget {
    /// From the total megabytes and those of the response cache, if configured.
    pub(crate) fn new(all: Option<u64>, response_cache: Option<u64>) -> anyhow::Result<Self> {
        let megabytes = all.unwrap_or(DEFAULT_MEGABYTES);
        if megabytes < MIN_MEGABYTES {
            bail!("--memory {megabytes} is too little: give at least {MIN_MEGABYTES} (megabytes)");
        }
        let defaults = Self::divide(megabytes.saturating_mul(MEGABYTE));
        Ok(Self {
            response_cache: response_cache
                .map_or(defaults.response_cache, |megabytes| megabytes.saturating_mul(MEGABYTE)),
            ..defaults
        })
    }

    fn divide(bytes: u64) -> Self {
        // A quarter, if a compiler fits into it. Otherwise no compiler stays idle, and each verification starts one.
        let idle_compilers = Some(bytes / 4).filter(|quarter| *quarter >= IDLE_COMPILER).unwrap_or(0);
        let bytes = bytes - idle_compilers;
        Self { bytes, response_cache: bytes / 24, idle_compilers }
    }

    /// Bytes for idle compiler processes. Busy ones have their own limit.
    pub(crate) fn idle_compilers(self) -> u64 {
        self.idle_compilers
    }

    /// Bytes for the response cache of the API.
    pub(crate) fn response_cache(self) -> u64 {
        self.response_cache
    }

    /// About two thirds. A fifth is for four write buffers: larger ones would flush less often, but leave more to replay
    /// after a crash.
    pub(crate) fn store(self) -> StoreMemory {
        StoreMemory {
            cache_bytes: self.bytes / 4,
            row_cache_bytes: self.bytes / 32,
            write_buffer_bytes: self.bytes / 20,
            writer_cache_entries: usize::try_from(self.bytes / 6 / BYTES_PER_ENTRY).unwrap_or(usize::MAX),
        }
    }

    /// The bytes of each part, by name.
    pub(crate) fn parts(self) -> [(&'static str, u64); 7] {
        let store = self.store();
        [
            ("store_cache", store.cache_bytes),
            ("row_cache", store.row_cache_bytes),
            ("write_buffers", 4 * store.write_buffer_bytes),
            ("writer_cache", store.writer_cache_entries as u64 * BYTES_PER_ENTRY),
            ("waiting_blocks", self.waiting_blocks() as u64),
            ("response_cache", self.response_cache),
            ("idle_compilers", self.idle_compilers),
        ]
    }

    /// Maximum bytes of one raw node response. Decoded, it takes several times that.
    pub(crate) fn node_response(self) -> usize {
        usize::try_from(self.bytes / 12).unwrap_or(usize::MAX)
    }

    /// Bytes of fetched blocks that wait to be written. The remaining budget covers allocator overhead.
    pub(crate) fn waiting_blocks(self) -> usize {
        usize::try_from(self.bytes / 6).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_do_not_exceed_the_budget() {
        for megabytes in [MIN_MEGABYTES, 768, DEFAULT_MEGABYTES, 16_384] {
            let budget = MemoryBudget::new(Some(megabytes), None).unwrap();
            let given: u64 = budget.parts().iter().map(|(_, bytes)| bytes).sum();
            assert!(given <= megabytes * MEGABYTE, "{given} of {megabytes} MB");
        }
    }

    #[test]
    fn with_little_memory_no_compiler_stays_idle_and_the_other_parts_keep_theirs() {
        let of = |megabytes| MemoryBudget::new(Some(megabytes), None).unwrap();
        assert_eq!(of(768).idle_compilers(), 0);
        assert_eq!(of(1_024).idle_compilers(), 256 * MEGABYTE);
        assert_eq!(of(1_024).store().cache_bytes, of(768).store().cache_bytes);
        assert_eq!(MemoryBudget::default(), of(1_024));
    }

    #[test]
    fn the_response_cache_size_is_configurable() {
        assert_eq!(MemoryBudget::new(None, None).unwrap(), MemoryBudget::default());
        assert_eq!(MemoryBudget::new(None, Some(0)).unwrap().response_cache(), 0);
        assert_eq!(MemoryBudget::new(Some(2_000), Some(7)).unwrap().response_cache(), 7 * MEGABYTE);
    }

    #[test]
    fn too_little_memory_is_refused_with_the_minimum() {
        let error = MemoryBudget::new(Some(10), None).unwrap_err().to_string();
        assert_eq!(error, "--memory 10 is too little: give at least 96 (megabytes)");
    }
}
