use serde::Serialize;
use utoipa::ToSchema;

use super::{Coverage, Decimal, Timestamp};

/// What the chain did on a day (UTC).
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Day {
    /// When the day begins.
    pub start: Timestamp,
    #[schema(example = 43_200)]
    pub blocks: u64,
    #[schema(example = 3_900_000)]
    pub transactions: u64,
    #[schema(example = 5_100_000)]
    pub token_transfers: u64,
    #[schema(example = 410_000)]
    pub dex_trades: u64,
    #[schema(example = 9_800_000)]
    pub logs: u64,
    /// Addresses that sent or received a transaction on this day, each counted once. Not counted: addresses that are only in logs or
    /// inside calls.
    #[schema(example = 1_100_000)]
    pub active_addresses: u64,
    /// Addresses that no earlier indexed block contains.
    #[schema(example = 120_000)]
    pub new_addresses: u64,
    #[schema(example = 900)]
    pub new_tokens: u64,
    /// Contracts created by successful transactions, and inside calls as far as traces were there when the block was indexed:
    /// those in the blocks of `untracedBlocks` are missing. A contract that is created again at its address counts again.
    #[schema(example = 2_300)]
    pub new_contracts: u64,
    /// Blocks without traces: contracts created inside calls in these blocks are not in `newContracts`.
    #[schema(example = 0)]
    pub untraced_blocks: u64,
    /// Gas used by all blocks.
    pub gas_used: Decimal,
    /// What transactions paid, in wei of the chain's coin: for gas, for blobs, and on a rollup for the chain below and its operator.
    pub fees: Decimal,
    /// The part of the fees that was burnt (EIP-1559, EIP-4844), in wei. "0" on a chain without base fees.
    pub burnt_fees: Decimal,
    /// Mean effective gas price in wei, without deposits and other transactions that pay nothing or in a token; null if there
    /// are no others.
    #[schema(required = true)]
    pub avg_gas_price: Option<Decimal>,
}

impl From<domain::DayFigures> for Day {
    fn from(day: domain::DayFigures) -> Self {
        Self {
            start: Timestamp::from_unix_seconds(day.start),
            blocks: day.blocks,
            transactions: day.transactions,
            token_transfers: day.transfers,
            dex_trades: day.trades,
            logs: day.logs,
            active_addresses: day.active_addresses,
            new_addresses: day.new_addresses,
            new_tokens: day.new_tokens,
            new_contracts: day.new_contracts,
            untraced_blocks: day.untraced_blocks,
            gas_used: day.gas_used.into(),
            fees: day.fees.into(),
            burnt_fees: day.burnt_fees.into(),
            avg_gas_price: day.mean_gas_price.map(Decimal::from),
        }
    }
}

/// Days, the oldest first. The last one is that of the newest block, and goes on.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DayList {
    pub days: Vec<Day>,
    #[serde(flatten)]
    pub coverage: Coverage,
}

impl DayList {
    #[must_use]
    pub fn new(days: Vec<domain::DayFigures>, coverage: domain::Coverage) -> Self {
        Self { days: days.into_iter().map(Day::from).collect(), coverage: coverage.into() }
    }
}
