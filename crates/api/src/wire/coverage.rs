use serde::Serialize;
use utoipa::ToSchema;

/// The part of the chain that the numbers of a response are about.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The first indexed block. Totals, counts and balances of tokens are those since this block. Null before a block is
    /// indexed.
    #[schema(required = true)]
    pub first_indexed_block: Option<u64>,
    /// Whether the index begins with the first block of the chain.
    pub complete: bool,
}

impl From<domain::Coverage> for Coverage {
    fn from(coverage: domain::Coverage) -> Self {
        Self { first_indexed_block: coverage.first_block, complete: coverage.is_complete() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_index_from_the_first_block_on_is_complete() {
        let is_complete = |first_block| Coverage::from(domain::Coverage { first_block }).complete;
        assert_eq!([Some(0), Some(1), None].map(is_complete), [true, false, false]);
    }
}
