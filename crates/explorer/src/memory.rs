//! How the memory that the operator gives is shared out.

use anyhow::bail;

const MEGABYTE: u64 = 1 << 20;
const LEAST_MEGABYTES: u64 = 96;
const DEFAULT_MEGABYTES: u64 = 1_024;
/// What a compiler holds that waits for the next source of its version.
const IDLE_COMPILER: u64 = 200 * MEGABYTE;
/// What the end of a list or the id of an address takes at hand, with room for those of long lists.
const BYTES_OF_AN_ENTRY: u64 = 320;

/// Memory for what grows with the chain and its traffic. The program itself needs little beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryBudget {
    /// Without what compilers hold.
    bytes: u64,
    answers: u64,
    idle_compilers: u64,
}

/// What the store may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoreMemory {
    /// Recently read data.
    pub(crate) cache_bytes: u64,
    /// One of four buffers of recent writes.
    pub(crate) write_buffer_bytes: u64,
    pub(crate) writer_cache_entries: usize,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self::shared_out(DEFAULT_MEGABYTES * MEGABYTE)
    }
}

impl MemoryBudget {
    /// Megabytes in all, and for answers alone, where the operator says so.
    pub(crate) fn new(all: Option<u64>, answers: Option<u64>) -> anyhow::Result<Self> {
        let megabytes = all.unwrap_or(DEFAULT_MEGABYTES);
        if megabytes < LEAST_MEGABYTES {
            bail!("--memory {megabytes} is too little: give at least {LEAST_MEGABYTES} (megabytes)");
        }
        let usual = Self::shared_out(megabytes.saturating_mul(MEGABYTE));
        Ok(Self { answers: answers.map_or(usual.answers, |megabytes| megabytes.saturating_mul(MEGABYTE)), ..usual })
    }

    fn shared_out(bytes: u64) -> Self {
        // A quarter, where a compiler fits in. If none does, none waits, and the next verification loads its own.
        let idle_compilers = Some(bytes / 4).filter(|quarter| *quarter >= IDLE_COMPILER).unwrap_or(0);
        let bytes = bytes - idle_compilers;
        Self { bytes, answers: bytes / 24, idle_compilers }
    }

    /// Processes of compilers that wait for the next source. Those that compile are bounded by themselves.
    pub(crate) fn idle_compilers(self) -> u64 {
        self.idle_compilers
    }

    /// Answers that the API tells again as long as they hold.
    pub(crate) fn answers(self) -> u64 {
        self.answers
    }

    /// Three fifths. A fifth are four buffers of what was written last: larger ones would write less often, and leave more
    /// to replay after a crash.
    pub(crate) fn store(self) -> StoreMemory {
        StoreMemory {
            cache_bytes: self.bytes / 4,
            write_buffer_bytes: self.bytes / 20,
            writer_cache_entries: usize::try_from(self.bytes / 6 / BYTES_OF_AN_ENTRY).unwrap_or(usize::MAX),
        }
    }

    /// One answer of the node, as it comes. Decoded it takes several times that.
    pub(crate) fn node_answer(self) -> usize {
        usize::try_from(self.bytes / 12).unwrap_or(usize::MAX)
    }

    /// Blocks that were fetched and wait to be written. The rest is for what the allocator does not give back.
    pub(crate) fn waiting_blocks(self) -> usize {
        usize::try_from(self.bytes / 6).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_given_out_than_there_is() {
        for megabytes in [LEAST_MEGABYTES, 768, DEFAULT_MEGABYTES, 16_384] {
            let budget = MemoryBudget::new(Some(megabytes), None).unwrap();
            let store = budget.store();
            let entries = store.writer_cache_entries as u64 * BYTES_OF_AN_ENTRY;
            let store = store.cache_bytes + 4 * store.write_buffer_bytes + entries;
            let given = store + budget.waiting_blocks() as u64 + budget.answers() + budget.idle_compilers();
            assert!(given <= megabytes * MEGABYTE, "{given} of {megabytes} MB");
        }
    }

    #[test]
    fn where_memory_is_short_no_compiler_waits_and_everything_else_has_as_much_as_ever() {
        let of = |megabytes| MemoryBudget::new(Some(megabytes), None).unwrap();
        assert_eq!(of(768).idle_compilers(), 0);
        assert_eq!(of(1_024).idle_compilers(), 256 * MEGABYTE);
        assert_eq!(of(1_024).store().cache_bytes, of(768).store().cache_bytes);
        assert_eq!(MemoryBudget::default(), of(1_024));
    }

    #[test]
    fn answers_get_what_the_operator_says() {
        assert_eq!(MemoryBudget::new(None, None).unwrap(), MemoryBudget::default());
        assert_eq!(MemoryBudget::new(None, Some(0)).unwrap().answers(), 0);
        assert_eq!(MemoryBudget::new(Some(2_000), Some(7)).unwrap().answers(), 7 * MEGABYTE);
    }

    #[test]
    fn too_little_is_refused_with_the_least_that_will_do() {
        let refusal = MemoryBudget::new(Some(10), None).unwrap_err().to_string();
        assert_eq!(refusal, "--memory 10 is too little: give at least 96 (megabytes)");
    }
}
