use serde::Serialize;
use utoipa::ToSchema;

use super::{Coverage, Decimal};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// 0 while no block is indexed, and then named in `unknownFields`.
    pub latest_block: u64,
    pub total_transactions: u64,
    pub total_tokens: u64,
    /// Blocks without traces: contracts created inside their calls may lack a creator.
    pub untraced_blocks: u64,
    /// The first block from which internal transactions are complete, up to `internalTransactionsTo`; null without traces.
    #[schema(required = true)]
    pub internal_transactions_from: Option<u64>,
    /// Null without traces.
    #[schema(required = true)]
    pub internal_transactions_to: Option<u64>,
    /// Mean effective gas price in wei over the newest 100 blocks with transactions, without deposits and other transactions
    /// that pay nothing or in a token. "0" if it is in `unknownFields`: there are no others.
    pub avg_gas_price: Decimal,
    /// Fields that are not known: what stands in them is no value.
    pub unknown_fields: Vec<StatsField>,
    #[serde(flatten)]
    pub coverage: Coverage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum StatsField {
    LatestBlock,
    AvgGasPrice,
}

impl Stats {
    #[must_use]
    pub fn new(stats: domain::Stats, coverage: domain::Coverage) -> Self {
        let known = [
            (StatsField::LatestBlock, stats.latest_block.is_some()),
            (StatsField::AvgGasPrice, stats.average_gas_price.is_some()),
        ];
        Self {
            unknown_fields: known.into_iter().filter(|(_, is_known)| !is_known).map(|(field, _)| field).collect(),
            // The types of these fields have no value for "unknown": it is in `unknownFields`.
            latest_block: stats.latest_block.unwrap_or(0),
            total_transactions: stats.total_transactions,
            total_tokens: stats.total_tokens,
            untraced_blocks: stats.untraced_blocks,
            internal_transactions_from: stats.traced_range.map(|range| range.from),
            internal_transactions_to: stats.traced_range.map(|range| range.to),
            avg_gas_price: stats.average_gas_price.unwrap_or(domain::U256::ZERO).into(),
            coverage: coverage.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_chain_has_no_figures() {
        insta::assert_json_snapshot!(Stats::new(domain::Stats::default(), domain::Coverage::default()), @r#"
        {
          "latestBlock": 0,
          "totalTransactions": 0,
          "totalTokens": 0,
          "untracedBlocks": 0,
          "internalTransactionsFrom": null,
          "internalTransactionsTo": null,
          "avgGasPrice": "0",
          "unknownFields": [
            "latestBlock",
            "avgGasPrice"
          ],
          "firstIndexedBlock": null,
          "complete": false
        }
        "#);
    }

    #[test]
    fn a_mean_price_of_zero_is_known() {
        let of = |average_gas_price| domain::Stats { latest_block: Some(0), average_gas_price, ..Default::default() };
        let unknown = |stats| Stats::new(stats, domain::Coverage::default()).unknown_fields;
        assert!(unknown(of(Some(domain::U256::ZERO))).is_empty());
        assert_eq!(unknown(of(None)), [StatsField::AvgGasPrice]);
    }
}
