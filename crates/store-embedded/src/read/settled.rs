//! Which blocks can no longer be reverted.

use domain::BlockNumber;

/// Counts how often the index was emptied: apart from that, blocks that cannot be reverted never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Generation(u64);

/// The first block that may be reverted, and the generation for which that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SettledFloor {
    pub(crate) generation: Generation,
    pub(crate) block: BlockNumber,
}

/// Bits of the block number, below those of the generation.
const BLOCK_BITS: u32 = 48;

impl SettledFloor {
    /// That of the index after it was emptied.
    pub(super) fn next_generation(self) -> Self {
        Self { generation: Generation(self.generation.0 + 1), block: 0 }
    }

    pub(super) fn packed(self) -> u64 {
        (self.generation.0 << BLOCK_BITS) | self.block.min((1 << BLOCK_BITS) - 1)
    }

    pub(super) fn unpacked(packed: u64) -> Self {
        Self { generation: Generation(packed >> BLOCK_BITS), block: packed & ((1 << BLOCK_BITS) - 1) }
    }
}
