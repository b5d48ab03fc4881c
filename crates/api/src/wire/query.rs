use domain::{Page, PageRequest};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Block, Coverage, DexTrade, EventLog, Token, TokenTransfer, Total, Transaction};

#[derive(Debug, Clone, Copy, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum QueryEntity {
    Transactions,
    Blocks,
    Tokens,
    TokenTransfers,
    DexTrades,
    Logs,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueryResponse {
    #[schema(value_type = QueryEntity, example = "transactions")]
    pub entity: &'static str,
    /// Entries in `data`.
    pub count: usize,
    pub data: Vec<QueryRecord>,
    #[schema(value_type = Total)]
    pub total: u64,
    /// As applied.
    pub limit: u32,
    pub offset: u64,
    #[serde(flatten)]
    pub coverage: Coverage,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum QueryRecord {
    Transaction(Transaction),
    Block(Block),
    Token(Token),
    TokenTransfer(TokenTransfer),
    DexTrade(DexTrade),
    Log(EventLog),
}

impl QueryResponse {
    #[must_use]
    pub fn new(
        entity: &'static str,
        found: Page<QueryRecord>,
        window: PageRequest,
        coverage: domain::Coverage,
    ) -> Self {
        Self {
            entity,
            count: found.items.len(),
            data: found.items,
            total: found.total,
            limit: window.limit,
            offset: window.offset,
            coverage: coverage.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::TokenPrefix;

    use super::{super::token::tests::coin, *};

    fn transfer() -> QueryRecord {
        QueryRecord::TokenTransfer(TokenTransfer::new(domain::Transfer::sample(), TokenPrefix::Bep))
    }

    #[test]
    fn a_result_has_the_count_and_the_total() {
        let found = Page { items: vec![transfer()], total: 9 };
        let window = PageRequest { offset: 8, ..PageRequest::newest(100) };
        insta::assert_json_snapshot!(QueryResponse::new(
            "token_transfers",
            found,
            window,
            domain::Coverage { first_block: Some(7) }
        ));
    }

    #[test]
    fn no_match_is_an_empty_list() {
        let window = PageRequest { offset: 5, ..PageRequest::newest(25) };
        insta::assert_json_snapshot!(QueryResponse::new("tokens", Page::empty(1), window, domain::Coverage::default()), @r#"
        {
          "entity": "tokens",
          "count": 0,
          "data": [],
          "total": 1,
          "limit": 25,
          "offset": 5,
          "firstIndexedBlock": null,
          "complete": false
        }
        "#);
    }

    #[test]
    fn a_queried_token_equals_a_listed_one() {
        let listed =
            Token::new(coin(), TokenPrefix::Bep, domain::Coverage::default(), &enrichment::FoundImitations::default());
        let queried = serde_json::to_value(QueryRecord::Token(listed.clone())).unwrap();
        assert_eq!(queried, serde_json::to_value(listed).unwrap());
    }
}
