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
    /// Addresses that no earlier indexed block contains.
    #[schema(example = 120_000)]
    pub new_addresses: u64,
    #[schema(example = 900)]
    pub new_tokens: u64,
    /// Mean effective gas price in wei; null without transactions.
    #[schema(required = true)]
    pub avg_gas_price: Option<Decimal>,
}

impl From<domain::PeriodFigures> for Day {
    fn from(day: domain::PeriodFigures) -> Self {
        Self {
            start: Timestamp::from_unix_seconds(day.start),
            blocks: day.blocks,
            transactions: day.transactions,
            token_transfers: day.transfers,
            dex_trades: day.trades,
            logs: day.logs,
            new_addresses: day.new_addresses,
            new_tokens: day.new_tokens,
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
    pub fn new(days: Vec<domain::PeriodFigures>, coverage: domain::Coverage) -> Self {
        Self { days: days.into_iter().map(Day::from).collect(), coverage: coverage.into() }
    }
}
