use crate::BlockNumber;

/// Which part of the chain the index has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// None before the first block is indexed.
    pub first_block: Option<BlockNumber>,
}

impl Coverage {
    /// Whether the index begins with the first block of the chain. Otherwise its totals and balances are those since the
    /// first indexed block.
    #[must_use]
    pub fn is_complete(self) -> bool {
        self.first_block == Some(0)
    }
}
