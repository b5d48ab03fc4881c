use domain::{Page, TokenPrefix};
use enrichment::FoundImitations;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Token, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    pub address: Address,
    /// In the token's smallest unit; the sum over all ids for a BEP1155 token.
    pub balance: Decimal,
}

impl From<domain::Holder> for Holder {
    fn from(holder: domain::Holder) -> Self {
        Self { address: holder.address.into(), balance: holder.balance.into() }
    }
}

list! {
    pub struct HolderList with coverage {
        holders: Holder,
        total,
    }
}

impl HolderList {
    #[must_use]
    pub fn new(holders: Page<domain::Holder>, paging: Paging, coverage: domain::Coverage) -> Self {
        Self::of(holders.map(Holder::from), paging, coverage)
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenBalance {
    pub token: Token,
    /// In the token's smallest unit; the sum over all ids for a BEP1155 token.
    pub balance: Decimal,
}

impl TokenBalance {
    #[must_use]
    pub fn new(
        held: domain::TokenBalance,
        prefix: TokenPrefix,
        coverage: domain::Coverage,
        imitations: &FoundImitations,
    ) -> Self {
        Self { token: Token::new(held.token, prefix, coverage, imitations), balance: held.balance.into() }
    }
}

list! {
    pub struct TokenBalanceList with coverage {
        tokens: TokenBalance,
        total,
    }
}

impl TokenBalanceList {
    #[must_use]
    pub fn new(
        held: Page<domain::TokenBalance>,
        prefix: TokenPrefix,
        paging: Paging,
        coverage: domain::Coverage,
        imitations: &FoundImitations,
    ) -> Self {
        Self::of(held.map(|held| TokenBalance::new(held, prefix, coverage, imitations)), paging, coverage)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, Balance};

    use super::{super::token::tests::coin, *};

    #[test]
    fn a_page_of_holders_has_the_documented_names_and_types() {
        // More than 256 bits: the sum over many ids.
        let holder = domain::Holder { address: Address::repeat_byte(0xaa), balance: Balance::MAX };
        insta::assert_json_snapshot!(HolderList::new(
            Page { items: vec![holder], total: 7 },
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }

    #[test]
    fn a_page_of_balances_has_the_documented_names_and_types() {
        let held = domain::TokenBalance { token: coin(), balance: Balance::from(5_u64) };
        let page = Page { items: vec![held], total: 1 };
        insta::assert_json_snapshot!(TokenBalanceList::new(
            page,
            TokenPrefix::Bep,
            Paging::default(),
            domain::Coverage { first_block: Some(0) },
            &FoundImitations::default()
        ));
    }
}
