use alloy_primitives::U256;

/// Seconds of a day.
pub const DAY: u64 = 24 * 60 * 60;

/// What the chain did in a period of time, such as a day. Periods begin at multiples of their length since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodFigures {
    /// Unix seconds.
    pub start: u64,
    pub blocks: u64,
    pub transactions: u64,
    pub transfers: u64,
    pub trades: u64,
    pub logs: u64,
    /// Addresses that no earlier indexed block contains.
    pub new_addresses: u64,
    pub new_tokens: u64,
    /// In wei, rounded down; None without transactions.
    pub mean_gas_price: Option<U256>,
}
