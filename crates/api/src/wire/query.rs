use domain::{Page, PageRequest};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Block, DexTrade, Token, TokenTransfer, Transaction};

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

/// What a query found.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueryAnswer {
    /// The entity that was asked for.
    #[schema(value_type = QueryEntity, example = "transactions")]
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
    use domain::TokenPrefix;

    use super::super::{token::tests::coin, transfer::tests::payment};
    use super::*;

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
