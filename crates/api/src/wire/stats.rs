use serde::Serialize;
use utoipa::ToSchema;

use super::Decimal;

/// Statistics of the indexed chain.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The newest indexed block; 0 if there is none.
    #[schema(example = 21_000_000)]
    pub latest_block: u64,
    #[schema(example = 2_500_000_000_u64)]
    pub total_transactions: u64,
    #[schema(example = 1_200_000)]
    pub total_tokens: u64,
    /// Blocks without traces: contracts created by internal calls in these blocks may lack a creator.
    #[schema(example = 0)]
    pub untraced_blocks: u64,
    /// Mean effective gas price in wei over the newest 100 blocks with transactions.
    pub avg_gas_price: Decimal,
}

impl From<domain::Stats> for Stats {
    fn from(stats: domain::Stats) -> Self {
        Self {
            latest_block: stats.latest_block.unwrap_or(0),
            total_transactions: stats.total_transactions,
            total_tokens: stats.total_tokens,
            untraced_blocks: stats.untraced_blocks,
            avg_gas_price: stats.average_gas_price.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_chain_has_zeros() {
        insta::assert_json_snapshot!(Stats::from(domain::Stats::default()), @r#"
        {
          "latestBlock": 0,
          "totalTransactions": 0,
          "totalTokens": 0,
          "untracedBlocks": 0,
          "avgGasPrice": "0"
        }
        "#);
    }
}
