use serde::Serialize;
use utoipa::ToSchema;

use super::Decimal;

/// Figures of the whole chain, as far as it is indexed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The number of the newest indexed block; 0 before there is one.
    #[schema(example = 21_000_000)]
    pub latest_block: u64,
    #[schema(example = 2_500_000_000_u64)]
    pub total_transactions: u64,
    #[schema(example = 1_200_000)]
    pub total_tokens: u64,
    /// Blocks of which the node did not tell which contracts were made inside calls: contracts of theirs may be shown
    /// without a creator.
    #[schema(example = 0)]
    pub untraced_blocks: u64,
    /// Mean effective gas price, in wei, over the transactions of the newest 100 blocks that have any.
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
    fn an_empty_chain_has_noughts() {
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
