use domain::{Page, TokenKind, TokenPrefix};
use enrichment::{FoundImitations, Imitated};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Coverage, Decimal, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub address: Address,
    /// Empty if the contract has none, or if it is in `unknownFields`.
    #[schema(example = "Tether USD")]
    pub name: String,
    /// As the name.
    #[schema(example = "USDT")]
    pub symbol: String,
    /// 0 if in `unknownFields`: the contract has none, or was not read yet.
    pub decimals: u8,
    #[serde(rename = "type")]
    pub kind: TokenType,
    /// From the contract or, if it has none, what is held by transfers: the ids of a BEP721 that exist, the units of all ids
    /// of a BEP1155. 0 if it is in `unknownFields`.
    pub total_supply: Decimal,
    /// Addresses with a balance above zero.
    pub holder_count: u64,
    pub transfer_count: u64,
    pub balance_source: BalanceSource,
    /// The newest block at which indexed balances were compared with the contract's, or null.
    #[schema(required = true)]
    pub audited_block: Option<u64>,
    /// Fields that are not known: what stands in them is no value. A new token is read from its contract a moment after the
    /// block.
    pub unknown_fields: Vec<TokenField>,
    /// The token that this one seems to imitate, or null: one with the same symbol or name, or one that looks the same, which came
    /// first and has more holders, or needs no letters of other alphabets for it.
    #[schema(required = true)]
    pub imitates: Option<ImitatedToken>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImitatedToken {
    pub address: Address,
    pub name: String,
    pub symbol: String,
    pub holder_count: u64,
    pub likeness: Likeness,
}

/// What looks the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    Symbol,
    Name,
}

impl From<&Imitated> for ImitatedToken {
    fn from(imitated: &Imitated) -> Self {
        Self {
            address: imitated.address.into(),
            name: imitated.name.clone(),
            symbol: imitated.symbol.clone(),
            holder_count: imitated.holders,
            likeness: match imitated.likeness {
                enrichment::Likeness::Symbol => Likeness::Symbol,
                enrichment::Likeness::Name => Likeness::Name,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TokenField {
    Name,
    Symbol,
    Decimals,
    TotalSupply,
}

/// BEP20, BEP721 or BEP1155; ERC instead of BEP if the operator configures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(value_type = String, pattern = "^(BEP|ERC)(20|721|1155)$", example = "BEP20")]
pub struct TokenType(&'static str);

impl TokenType {
    #[must_use]
    pub fn new(kind: TokenKind, prefix: TokenPrefix) -> Self {
        Self(prefix.name(kind))
    }
}

/// `calls`: read from the contract, since its transfer events are inconsistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BalanceSource {
    /// Computed from transfer events.
    Events,
    /// Read from the contract, since its transfer events are inconsistent.
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
    pub fn new(
        token: domain::Token,
        prefix: TokenPrefix,
        coverage: domain::Coverage,
        imitations: &FoundImitations,
    ) -> Self {
        let total_supply = token.total_supply(coverage);
        let metadata = token.metadata;
        let known = [
            (TokenField::Name, metadata.is_read()),
            (TokenField::Symbol, metadata.is_read()),
            (TokenField::Decimals, metadata.decimals.is_some()),
            (TokenField::TotalSupply, total_supply.is_some()),
        ];
        Self {
            imitates: imitations.find(&token.address).map(|imitated| (&**imitated).into()),
            unknown_fields: known.into_iter().filter(|(_, is_known)| !is_known).map(|(field, _)| field).collect(),
            address: token.address.into(),
            name: metadata.name,
            symbol: metadata.symbol,
            // The types of these fields have no value for "unknown": it is in `unknownFields`.
            decimals: metadata.decimals.unwrap_or(0),
            kind: TokenType::new(token.kind, prefix),
            total_supply: total_supply.unwrap_or(domain::Balance::ZERO).into(),
            holder_count: token.holder_count,
            transfer_count: token.transfer_count,
            balance_source: token.balance_source.into(),
            audited_block: token.audited_block,
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenDetail {
    #[serde(flatten)]
    pub token: Token,
    #[serde(flatten)]
    pub coverage: Coverage,
}

impl TokenDetail {
    #[must_use]
    pub fn new(
        token: domain::Token,
        prefix: TokenPrefix,
        coverage: domain::Coverage,
        imitations: &FoundImitations,
    ) -> Self {
        Self { token: Token::new(token, prefix, coverage, imitations), coverage: coverage.into() }
    }
}

list! {
    pub struct TokenList with coverage {
        tokens: Token,
        total,
    }
}

impl TokenList {
    #[must_use]
    pub fn new(
        tokens: Page<domain::Token>,
        prefix: TokenPrefix,
        paging: Paging,
        coverage: domain::Coverage,
        imitations: &FoundImitations,
    ) -> Self {
        Self::of(tokens.map(|token| Token::new(token, prefix, coverage, imitations)), paging, coverage)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use domain::{Address, Balance, TokenMetadata, U256};

    use super::*;

    pub(in crate::wire) fn coin() -> domain::Token {
        domain::Token {
            address: Address::repeat_byte(0xdd),
            kind: TokenKind::Bep20,
            metadata: TokenMetadata {
                name: "Coin of \"Alice\"".to_owned(),
                symbol: "COIN".to_owned(),
                decimals: Some(255),
                total_supply: Some(U256::MAX),
                requested_at: Some(17),
            },
            holder_count: 3,
            transfer_count: 9,
            held: Balance::from(8),
            balance_source: domain::BalanceSource::Events,
            audited_block: Some(16),
        }
    }

    #[test]
    fn a_page_of_tokens_has_the_documented_names_and_types() {
        let unnamed = domain::Token {
            kind: TokenKind::Bep721,
            metadata: TokenMetadata::default(),
            balance_source: domain::BalanceSource::Calls,
            audited_block: None,
            ..coin()
        };
        let page = Page { items: vec![coin(), unnamed], total: 2 };
        insta::assert_json_snapshot!(TokenList::new(
            page,
            TokenPrefix::Bep,
            Paging::default(),
            domain::Coverage { first_block: Some(0) },
            &FoundImitations::default()
        ));
    }

    #[test]
    fn a_supply_that_the_contract_does_not_tell_is_what_holders_have_if_the_index_knows_all() {
        let metadata = TokenMetadata { requested_at: Some(17), ..TokenMetadata::default() };
        let token = domain::Token { kind: TokenKind::Bep721, metadata, ..coin() };
        let supply = |token: &domain::Token, first_block| {
            let token = Token::new(
                token.clone(),
                TokenPrefix::Bep,
                domain::Coverage { first_block },
                &FoundImitations::default(),
            );
            (serde_json::to_value(token.total_supply).unwrap(), token.unknown_fields)
        };
        assert_eq!(supply(&token, Some(0)), ("8".into(), vec![TokenField::Decimals]));
        let unknown = ("0".into(), vec![TokenField::Decimals, TokenField::TotalSupply]);
        assert_eq!(supply(&token, Some(1)), unknown, "transfers before the first block may be missing");
        let inconsistent = domain::Token { balance_source: domain::BalanceSource::Calls, ..token };
        assert_eq!(supply(&inconsistent, Some(0)), unknown);
    }

    #[test]
    fn the_operator_chooses_the_prefix() {
        let names = |prefix| TokenKind::ALL.map(|kind| TokenType::new(kind, prefix).0);
        assert_eq!(names(TokenPrefix::Bep), ["BEP20", "BEP721", "BEP1155"]);
        assert_eq!(names(TokenPrefix::Erc), ["ERC20", "ERC721", "ERC1155"]);
    }
}
