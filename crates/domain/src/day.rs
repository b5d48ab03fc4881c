use alloy_primitives::U256;

/// Seconds of a day.
pub const DAY: u64 = 24 * 60 * 60;

/// What the chain did on a day (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DayFigures {
    /// Unix seconds.
    pub start: u64,
    pub blocks: u64,
    pub transactions: u64,
    pub transfers: u64,
    pub trades: u64,
    pub logs: u64,
    /// Addresses that sent or received a transaction; those in its logs or inside its calls do not count.
    pub active_addresses: u64,
    /// Addresses that no earlier indexed block contains.
    pub new_addresses: u64,
    pub new_tokens: u64,
    /// Contracts created by successful transactions, and inside calls in traced blocks.
    pub new_contracts: u64,
    /// Blocks whose contracts created inside calls are unknown.
    pub untraced_blocks: u64,
    pub gas_used: u64,
    /// What transactions paid, in wei of the chain's coin.
    pub fees: U256,
    /// The part of the fees that was burnt, in wei.
    pub burnt_fees: U256,
    /// In wei, rounded down, of the transactions with a price in the chain's coin; None without one.
    pub mean_gas_price: Option<U256>,
}
