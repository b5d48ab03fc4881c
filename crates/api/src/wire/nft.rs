use domain::{Page, TokenPrefix};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, TokenTransfer, TokenType, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nft {
    pub token_address: Address,
    pub token_type: TokenType,
    pub token_id: Decimal,
    /// The owner of a BEP721 id; null if it was burned, and for a BEP1155 id, which has holders.
    #[schema(required = true)]
    pub owner: Option<Address>,
    /// Addresses with an amount above zero; at most 1 for a BEP721 id.
    pub holder_count: u64,
    pub transfer_count: u64,
}

impl Nft {
    #[must_use]
    pub fn new(nft: &domain::Nft, prefix: TokenPrefix) -> Self {
        Self {
            token_address: nft.token.into(),
            token_type: TokenType::new(nft.kind, prefix),
            token_id: nft.id.into(),
            owner: nft.owner.map(Address::from),
            holder_count: nft.holder_count,
            transfer_count: nft.transfer_count,
        }
    }
}

list! {
    pub struct NftList with coverage {
        ids: Nft,
        total,
    }
}

impl NftList {
    #[must_use]
    pub fn new(nfts: Page<domain::Nft>, prefix: TokenPrefix, paging: Paging, coverage: domain::Coverage) -> Self {
        Self::of(nfts.map(|nft| Nft::new(&nft, prefix)), paging, coverage)
    }
}

list! {
    pub struct NftTransferList with coverage {
        transfers: TokenTransfer,
        total,
    }
}

impl NftTransferList {
    #[must_use]
    pub fn new(
        transfers: Page<domain::Transfer>,
        prefix: TokenPrefix,
        paging: Paging,
        coverage: domain::Coverage,
    ) -> Self {
        Self::of(transfers.map(|transfer| TokenTransfer::new(transfer, prefix)), paging, coverage)
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldNft {
    pub token_address: Address,
    pub token_type: TokenType,
    /// Null until it is read, as is the symbol; empty if the contract has none.
    #[schema(required = true)]
    pub token_name: Option<String>,
    #[schema(required = true)]
    pub token_symbol: Option<String>,
    pub token_id: Decimal,
    /// 1 for a BEP721 id.
    pub amount: Decimal,
}

impl HeldNft {
    #[must_use]
    pub fn new(held: domain::HeldNft, prefix: TokenPrefix) -> Self {
        Self {
            token_address: held.token.into(),
            token_type: TokenType::new(held.kind, prefix),
            token_name: held.token_name,
            token_symbol: held.token_symbol,
            token_id: held.id.into(),
            amount: held.amount.into(),
        }
    }
}

list! {
    pub struct HeldNftList with coverage {
        nfts: HeldNft,
        total,
    }
}

impl HeldNftList {
    #[must_use]
    pub fn new(held: Page<domain::HeldNft>, prefix: TokenPrefix, paging: Paging, coverage: domain::Coverage) -> Self {
        Self::of(held.map(|held| HeldNft::new(held, prefix)), paging, coverage)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, Balance, TokenKind, U256};

    use super::*;

    #[test]
    fn a_page_of_ids_has_the_documented_names_and_types() {
        let nft = domain::Nft {
            token: Address::repeat_byte(0xdd),
            id: U256::MAX,
            kind: TokenKind::Bep721,
            owner: Some(Address::repeat_byte(0xaa)),
            holder_count: 1,
            transfer_count: 3,
        };
        let shared = domain::Nft { kind: TokenKind::Bep1155, owner: None, holder_count: 7, ..nft };
        let page = Page { items: vec![nft, shared], total: 2 };
        insta::assert_json_snapshot!(NftList::new(
            page,
            TokenPrefix::Bep,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }

    #[test]
    fn a_page_of_held_ids_has_the_documented_names_and_types() {
        let held = domain::HeldNft {
            token: Address::repeat_byte(0xdd),
            kind: TokenKind::Bep1155,
            token_name: Some("Kittens".to_owned()),
            token_symbol: Some("KIT".to_owned()),
            id: U256::from(7),
            amount: Balance::MAX,
        };
        let page = Page { items: vec![held], total: 1 };
        insta::assert_json_snapshot!(HeldNftList::new(
            page,
            TokenPrefix::Erc,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
