use serde::Serialize;
use utoipa::ToSchema;

use super::{Coverage, Decimal, Timestamp};

/// What the chain did on a day (UTC).
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Day {
    pub start: Timestamp,
    pub blocks: u64,
    pub transactions: u64,
    pub token_transfers: u64,
    pub dex_trades: u64,
    pub logs: u64,
    /// Addresses that sent or received a transaction, each counted once; not those that are only in logs or inside calls.
    pub active_addresses: u64,
    /// Those that no earlier indexed block contains.
    pub new_addresses: u64,
    pub new_tokens: u64,
    /// Created by successful transactions, and inside calls except in `untracedBlocks`. A contract that is created again at
    /// its address counts again.
    pub new_contracts: u64,
    /// Blocks without traces when they were indexed.
    pub untraced_blocks: u64,
    pub gas_used: Decimal,
    /// What transactions paid, in wei of the chain's coin: for gas, for blobs, and on a rollup for the chain below and its operator.
    pub fees: Decimal,
    /// The part of `fees` that was burnt (EIP-1559, EIP-4844). "0" on a chain without base fees.
    pub burnt_fees: Decimal,
    /// Mean effective gas price in wei, without deposits and other transactions that pay nothing or in a token; null if
    /// there are no others.
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

/// The last day is that of the newest block, and goes on.
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
