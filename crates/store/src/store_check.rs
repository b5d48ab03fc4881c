use std::ops::RangeInclusive;

use domain::BlockNumber;

/// What reading and comparing everything in a store has found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreCheck {
    pub blocks: u64,
    pub transactions: u64,
    pub faults: Vec<StoreFault>,
}

/// Rows that cannot be read, or that do not match others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFault {
    /// In words.
    pub found: String,
    /// The damaged blocks, if they are known.
    pub blocks: Option<RangeInclusive<BlockNumber>>,
    pub part: StorePart,
}

/// The part of a store that has a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorePart {
    /// It can be filled again from the node.
    Index,
    /// What users left: nothing else has it.
    Records,
    /// A setting of the server with which data can be lost.
    Settings,
}
