use domain::{Page, PageRequest};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Block, DexTrade, Token, TokenTransfer, Transaction};

/// What a query asks for.
#[derive(Debug, Clone, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct QueryRequest {
    pub entity: QueryEntity,
    /// All conditions that are given must hold.
    #[schema(nullable = true)]
    pub filter: Option<QueryFilter>,
    /// `desc` is newest first, and for tokens those with most holders first.
    #[schema(nullable = true, default = "desc")]
    pub order_by: Option<QueryOrder>,
    /// Entries wanted. More than 100 is served as 100.
    #[schema(nullable = true, minimum = 1, default = 25, example = 25)]
    pub limit: Option<u32>,
    /// Entries to pass over. An offset past the end gives an empty list.
    #[schema(nullable = true, minimum = 0, default = 0, example = 0)]
    pub offset: Option<u64>,
}

/// What can be queried.
#[derive(Debug, Clone, Copy, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum QueryEntity {
    /// Filters: address, from, to, blockNumber, blockFrom, blockTo.
    Transactions,
    /// Filters: blockFrom, blockTo.
    Blocks,
    /// No filters.
    Tokens,
    /// Filters: address, from, to, tokenAddress, blockFrom, blockTo.
    TokenTransfers,
    /// Filters: address, dex, blockFrom, blockTo.
    DexTrades,
}

#[derive(Debug, Clone, Copy, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum QueryOrder {
    Asc,
    Desc,
}

/// Conditions. A key that the entity does not offer is refused. Numbers may also be given as a string of their digits;
/// addresses in any letter case.
#[derive(Debug, Clone, ToSchema)]
#[schema(rename_all = "camelCase")]
pub struct QueryFilter {
    /// transactions and token_transfers: sender or receiver; dex_trades: the maker.
    #[schema(nullable = true, pattern = "^0x[0-9a-fA-F]{40}$", example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5")]
    pub address: Option<String>,
    /// transactions and token_transfers: the sender.
    #[schema(nullable = true, pattern = "^0x[0-9a-fA-F]{40}$", example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5")]
    pub from: Option<String>,
    /// transactions and token_transfers: the receiver.
    #[schema(nullable = true, pattern = "^0x[0-9a-fA-F]{40}$", example = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5")]
    pub to: Option<String>,
    /// transactions: the block. Together with a range, both hold.
    #[schema(nullable = true, minimum = 0, example = 21_000_000)]
    pub block_number: Option<u64>,
    /// The first block wanted.
    #[schema(nullable = true, minimum = 0, example = 20_999_000)]
    pub block_from: Option<u64>,
    /// The last block wanted.
    #[schema(nullable = true, minimum = 0, example = 21_000_000)]
    pub block_to: Option<u64>,
    /// token_transfers: the token.
    #[schema(nullable = true, pattern = "^0x[0-9a-fA-F]{40}$", example = "0x55d398326f99059ff775485246999027b3197955")]
    pub token_address: Option<String>,
    /// dex_trades: the exchange by name, or `v2-` or `v3-` and its factory's address, in any letter case.
    #[schema(nullable = true, example = "PancakeSwap v2")]
    pub dex: Option<String>,
}

/// What a query found.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueryAnswer {
    /// The entity that was asked for.
    #[schema(example = "transactions")]
    pub entity: &'static str,
    /// How many entries `data` has.
    #[schema(example = 25)]
    pub count: usize,
    pub data: Records,
    /// How many match in all.
    #[schema(example = 1_204)]
    pub total: u64,
    /// The limit that was used.
    #[schema(example = 25)]
    pub limit: u32,
    /// The offset that was used.
    #[schema(example = 0)]
    pub offset: u64,
}

/// Entries of one kind: that of the entity.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Records {
    Transactions(Vec<Transaction>),
    Blocks(Vec<Block>),
    Tokens(Vec<Token>),
    TokenTransfers(Vec<TokenTransfer>),
    DexTrades(Vec<DexTrade>),
}

impl Records {
    fn len(&self) -> usize {
        match self {
            Self::Transactions(records) => records.len(),
            Self::Blocks(records) => records.len(),
            Self::Tokens(records) => records.len(),
            Self::TokenTransfers(records) => records.len(),
            Self::DexTrades(records) => records.len(),
        }
    }
}

impl QueryAnswer {
    #[must_use]
    pub fn new(entity: &'static str, data: Records, total: u64, window: PageRequest) -> Self {
        Self { entity, count: data.len(), data, total, limit: window.limit, offset: window.offset }
    }
}

/// Turns what the store found into records, and keeps how many there are in all.
pub(crate) fn records<T, W>(
    page: Page<T>,
    kind: impl FnOnce(Vec<W>) -> Records,
    convert: impl FnMut(T) -> W,
) -> (Records, u64) {
    (kind(page.items.into_iter().map(convert).collect()), page.total)
}

#[cfg(test)]
mod tests {
    use super::super::{token::tests::coin, transfer::tests::payment};
    use super::*;
    use crate::TokenPrefix;

    #[test]
    fn an_answer_tells_how_many_there_are_here_and_in_all() {
        let page = Page { items: vec![payment()], total: 9 };
        let (data, total) =
            records(page, Records::TokenTransfers, |transfer| TokenTransfer::new(transfer, TokenPrefix::Bep));
        let window = PageRequest { offset: 8, ..PageRequest::newest(100) };
        insta::assert_json_snapshot!(QueryAnswer::new("token_transfers", data, total, window));
    }

    #[test]
    fn nothing_found_is_an_empty_list() {
        let (data, total) = records(Page::empty(1), Records::Tokens, |token| Token::new(token, TokenPrefix::Bep));
        let window = PageRequest { offset: 5, ..PageRequest::newest(25) };
        insta::assert_json_snapshot!(QueryAnswer::new("tokens", data, total, window), @r#"
        {
          "entity": "tokens",
          "count": 0,
          "data": [],
          "total": 1,
          "limit": 25,
          "offset": 5
        }
        "#);
    }

    #[test]
    fn tokens_of_a_query_are_those_of_the_list() {
        let (data, _) = records(Page { items: vec![coin()], total: 1 }, Records::Tokens, |token| {
            Token::new(token, TokenPrefix::Bep)
        });
        let listed = serde_json::to_value([Token::new(coin(), TokenPrefix::Bep)]).unwrap();
        assert_eq!(serde_json::to_value(data).unwrap(), listed);
    }
}
