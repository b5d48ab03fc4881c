use fjall::{KeyspaceCreateOptions, config::BlockSizePolicy};

const LIST_BLOCK_BYTES: u32 = 16 << 10;

domain::all_variants! {
    /// Tables with the same write pattern share a keyspace: every commit touches all of them, so none is idle and pins old
    /// journals.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Group {
        /// Ascending keys, never overwritten.
        Dense,
        /// Unordered keys, never overwritten.
        Lookup,
        /// Lists: only the last chunk is overwritten.
        Lists,
        /// Small, and overwritten often.
        State,
    }
}

impl Group {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Lookup => "lookup",
            Self::Lists => "lists",
            Self::State => "state",
        }
    }

    pub(super) fn options(self, write_buffer_bytes: u64) -> KeyspaceCreateOptions {
        let options = KeyspaceCreateOptions::default().max_memtable_size(write_buffer_bytes);
        match self {
            // Chunks of long lists are a kilobyte or more, and are read sequentially.
            Self::Lists => options.data_block_size_policy(BlockSizePolicy::all(LIST_BLOCK_BYTES)),
            // Nobody reads an id that was not given, so the last level, which has nearly all rows, needs no filters.
            Self::Dense => options.expect_point_read_hits(true),
            Self::Lookup | Self::State => options,
        }
    }
}
