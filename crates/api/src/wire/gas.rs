use serde::Serialize;
use utoipa::ToSchema;

use super::Decimal;

/// What recent transactions paid for gas, in wei.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GasPrices {
    /// The newest block.
    pub block_number: u64,
    /// Of this block; null on a chain without base fees.
    #[schema(required = true)]
    pub base_fee: Option<Decimal>,
    /// A quarter of recent transactions paid at most this above the base fee; null without transactions.
    #[schema(required = true)]
    pub low_priority_fee: Option<Decimal>,
    /// Half of them.
    #[schema(required = true)]
    pub median_priority_fee: Option<Decimal>,
    /// Three quarters of them.
    #[schema(required = true)]
    pub high_priority_fee: Option<Decimal>,
    /// How many transactions were looked at.
    pub transactions: usize,
}

impl From<domain::RecentGas> for GasPrices {
    fn from(gas: domain::RecentGas) -> Self {
        let fee = |pick: fn(&domain::Quartiles) -> u128| gas.priority_fees.as_ref().map(pick).map(Decimal::from);
        Self {
            block_number: gas.block,
            base_fee: gas.base_fee.map(Decimal::from),
            low_priority_fee: fee(|fees| fees.low),
            median_priority_fee: fee(|fees| fees.median),
            high_priority_fee: fee(|fees| fees.high),
            transactions: gas.transactions,
        }
    }
}
