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
    Transactions,
    Blocks,
    Tokens,
    TokenTransfers,
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
    pub data: Vec<QueryRecord>,
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

/// An entry: of the kind of the entity that was asked for.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum QueryRecord {
    Transaction(Transaction),
    Block(Block),
    Token(Token),
    TokenTransfer(TokenTransfer),
    DexTrade(DexTrade),
}

impl QueryAnswer {
    #[must_use]
    pub fn new(entity: &'static str, found: Page<QueryRecord>, window: PageRequest) -> Self {
        Self {
            entity,
            count: found.items.len(),
            data: found.items,
            total: found.total,
            limit: window.limit,
            offset: window.offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{token::tests::coin, transfer::tests::payment};
    use super::*;
    use crate::TokenPrefix;

    fn transfer() -> QueryRecord {
        QueryRecord::TokenTransfer(TokenTransfer::new(payment(), TokenPrefix::Bep))
    }

    #[test]
    fn an_answer_tells_how_many_there_are_here_and_in_all() {
        let found = Page { items: vec![transfer()], total: 9 };
        let window = PageRequest { offset: 8, ..PageRequest::newest(100) };
        insta::assert_json_snapshot!(QueryAnswer::new("token_transfers", found, window));
    }

    #[test]
    fn nothing_found_is_an_empty_list() {
        let window = PageRequest { offset: 5, ..PageRequest::newest(25) };
        insta::assert_json_snapshot!(QueryAnswer::new("tokens", Page::empty(1), window), @r#"
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
    fn a_token_of_a_query_is_that_of_the_list() {
        let listed = Token::new(coin(), TokenPrefix::Bep);
        let queried = serde_json::to_value(QueryRecord::Token(listed.clone())).unwrap();
        assert_eq!(queried, serde_json::to_value(listed).unwrap());
    }
}
