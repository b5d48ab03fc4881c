use domain::{ApprovalScope, Page, TokenPrefix, U256};
use enrichment::CheckedAllowances;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Coverage, Decimal, Hash, Timestamp, TokenType, Total};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    pub token_address: Address,
    /// Null if no transfer of the token is indexed.
    #[schema(required = true)]
    pub token_type: Option<TokenType>,
    /// Null until it is read, as is the symbol; empty if the contract has none.
    #[schema(required = true)]
    pub token_name: Option<String>,
    #[schema(required = true)]
    pub token_symbol: Option<String>,
    /// Null until they are read, and if the contract has none.
    #[schema(required = true)]
    pub token_decimals: Option<u8>,
    /// Who may transfer the token.
    pub spender: Address,
    pub scope: Scope,
    /// Null unless the scope is `id`.
    #[schema(required = true)]
    pub token_id: Option<Decimal>,
    /// The amount in the last event, in the token's smallest unit; null for ids.
    #[schema(required = true)]
    pub approved_value: Option<Decimal>,
    /// What the contract still allows; null for ids, or if it could not be asked.
    #[schema(required = true)]
    pub current_value: Option<Decimal>,
    /// Whether the contract still allows anything; null if it could not be asked.
    #[schema(required = true)]
    pub is_active: Option<bool>,
    /// That of the last event, as are block and time.
    pub tx_hash: Hash,
    pub block_number: u64,
    pub timestamp: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// An amount of a BEP20 token.
    Amount,
    /// One id of a BEP721 token.
    Id,
    /// All ids of a BEP721 or BEP1155 token.
    All,
}

impl Approval {
    fn new(approval: domain::Approval, current: Option<U256>, prefix: TokenPrefix) -> Self {
        let is_amount = approval.scope == ApprovalScope::Amount;
        let (scope, token_id) = match approval.scope {
            ApprovalScope::Amount => (Scope::Amount, None),
            ApprovalScope::Id(id) => (Scope::Id, Some(id.into())),
            ApprovalScope::All => (Scope::All, None),
        };
        Self {
            token_address: approval.token.into(),
            token_type: approval.token_kind.map(|kind| TokenType::new(kind, prefix)),
            token_name: approval.token_name,
            token_symbol: approval.token_symbol,
            token_decimals: approval.token_decimals,
            spender: approval.spender.into(),
            scope,
            token_id,
            approved_value: is_amount.then(|| approval.value.into()),
            current_value: current.filter(|_| is_amount).map(Decimal::from),
            is_active: current.map(|value| !value.is_zero()),
            tx_hash: approval.tx_hash.into(),
            block_number: approval.block_number,
            timestamp: Timestamp::from_unix_seconds(approval.timestamp),
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalList {
    pub approvals: Vec<Approval>,
    #[schema(value_type = Total)]
    pub total: u64,
    /// The block at which the contracts were asked; null if the node did not answer.
    #[schema(required = true)]
    pub checked_block: Option<u64>,
    pub page: u64,
    pub limit: u32,
    #[serde(flatten)]
    pub coverage: Coverage,
}

impl ApprovalList {
    #[must_use]
    pub fn new(
        approvals: Page<domain::Approval>,
        checked: Option<CheckedAllowances>,
        prefix: TokenPrefix,
        paging: Paging,
        coverage: domain::Coverage,
    ) -> Self {
        let checked_block = checked.as_ref().map(|checked| checked.block);
        let mut values = checked.map(|checked| checked.values).unwrap_or_default().into_iter();
        let approvals_of_page = approvals.items.into_iter();
        Self {
            approvals: approvals_of_page
                .map(|approval| Approval::new(approval, values.next().flatten(), prefix))
                .collect(),
            total: approvals.total,
            checked_block,
            page: paging.page(),
            limit: paging.limit(),
            coverage: coverage.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, TokenKind};

    use super::*;

    #[test]
    fn a_page_of_approvals_has_the_documented_names_and_types() {
        let amount = domain::Approval {
            token: Address::repeat_byte(0xdd),
            token_kind: Some(TokenKind::Bep20),
            token_name: Some("Coin".to_owned()),
            token_symbol: Some("COIN".to_owned()),
            token_decimals: Some(18),
            spender: Address::repeat_byte(0xbb),
            scope: ApprovalScope::Amount,
            value: U256::MAX,
            tx_hash: B256::repeat_byte(0xcc),
            block_number: 17,
            timestamp: 1_794_700_800,
        };
        let id = domain::Approval { scope: ApprovalScope::Id(U256::from(7)), value: U256::ONE, ..amount.clone() };
        let all = domain::Approval { scope: ApprovalScope::All, token_kind: None, ..id.clone() };
        let page = Page { items: vec![amount, id, all], total: 3 };
        let values = vec![Some(U256::from(5)), Some(U256::ZERO), None];
        let checked = CheckedAllowances { block: 20, values };
        insta::assert_json_snapshot!(ApprovalList::new(
            page,
            Some(checked),
            TokenPrefix::Bep,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
