use domain::{Page, TokenKind, TokenPrefix};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub address: Address,
    /// Empty where the contract does not tell.
    #[schema(example = "Tether USD")]
    pub name: String,
    /// Empty where the contract does not tell.
    #[schema(example = "USDT")]
    pub symbol: String,
    /// Nought where the contract does not tell.
    #[schema(example = 18)]
    pub decimals: u8,
    #[serde(rename = "type")]
    pub kind: TokenType,
    pub total_supply: Decimal,
    /// Addresses with a balance above zero.
    #[schema(example = 5_120)]
    pub holder_count: u64,
    /// Transfers of the token.
    #[schema(example = 90_210)]
    pub transfer_count: u64,
    pub balance_source: BalanceSource,
    /// The newest block at which balances were compared with what the contract says, or null.
    #[schema(required = true, example = 20_999_990)]
    pub audited_block: Option<u64>,
}

/// BEP20, BEP721 or BEP1155; on a chain whose operator says so, ERC in place of BEP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(value_type = String, pattern = "^(BEP|ERC)(20|721|1155)$", example = "BEP20")]
pub struct TokenType(&'static str);

impl TokenType {
    #[must_use]
    pub fn new(kind: TokenKind, prefix: TokenPrefix) -> Self {
        Self(prefix.name(kind))
    }
}

/// Where the balances behind the holder count come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BalanceSource {
    /// Added up from transfers.
    Events,
    /// The transfers do not add up: asked of the contract.
    Calls,
}

impl From<domain::BalanceSource> for BalanceSource {
    fn from(source: domain::BalanceSource) -> Self {
        match source {
            domain::BalanceSource::Events => Self::Events,
            domain::BalanceSource::Calls => Self::Calls,
        }
    }
}

impl Token {
    #[must_use]
    pub fn new(token: domain::Token, prefix: TokenPrefix) -> Self {
        Self {
            address: token.address.into(),
            name: token.facts.name,
            symbol: token.facts.symbol,
            decimals: token.facts.decimals,
            kind: TokenType::new(token.kind, prefix),
            total_supply: token.facts.total_supply.into(),
            holder_count: token.holder_count,
            transfer_count: token.transfer_count,
            balance_source: token.balance_source.into(),
            audited_block: token.audited_block,
        }
    }
}

/// A page of tokens: those with most holders first, then by address.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenList {
    pub tokens: Vec<Token>,
    /// How many tokens are known.
    #[schema(example = 4_210)]
    pub total: u64,
    /// The page that was served.
    #[schema(example = 1)]
    pub page: u64,
    /// The page size that was used.
    #[schema(example = 25)]
    pub limit: u32,
}

impl TokenList {
    #[must_use]
    pub fn new(tokens: Page<domain::Token>, prefix: TokenPrefix, paging: Paging) -> Self {
        Self {
            tokens: tokens.items.into_iter().map(|token| Token::new(token, prefix)).collect(),
            total: tokens.total,
            page: paging.page(),
            limit: paging.limit(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use domain::{Address, TokenFacts, U256};

    use super::*;

    pub(in crate::wire) fn coin() -> domain::Token {
        domain::Token {
            address: Address::repeat_byte(0xdd),
            kind: TokenKind::Bep20,
            facts: TokenFacts {
                name: "Coin of \"Alice\"".to_owned(),
                symbol: "COIN".to_owned(),
                decimals: 255,
                total_supply: U256::MAX,
                asked_at: Some(17),
            },
            holder_count: 3,
            transfer_count: 9,
            balance_source: domain::BalanceSource::Events,
            audited_block: Some(16),
        }
    }

    #[test]
    fn a_page_of_tokens_has_the_documented_names_and_types() {
        let silent = domain::Token {
            kind: TokenKind::Bep721,
            facts: TokenFacts::default(),
            balance_source: domain::BalanceSource::Calls,
            audited_block: None,
            ..coin()
        };
        let page = Page { items: vec![coin(), silent], total: 2 };
        insta::assert_json_snapshot!(TokenList::new(page, TokenPrefix::Bep, Paging::default()));
    }

    #[test]
    fn the_operator_chooses_what_stands_before_the_number() {
        let names = |prefix| {
            [TokenKind::Bep20, TokenKind::Bep721, TokenKind::Bep1155].map(|kind| TokenType::new(kind, prefix).0)
        };
        assert_eq!(names(TokenPrefix::Bep), ["BEP20", "BEP721", "BEP1155"]);
        assert_eq!(names(TokenPrefix::Erc), ["ERC20", "ERC721", "ERC1155"]);
    }
}
