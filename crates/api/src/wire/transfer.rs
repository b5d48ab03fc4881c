use domain::TokenPrefix;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Timestamp, TokenType};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenTransfer {
    pub tx_hash: Hash,
    /// In the block, from 0.
    pub log_index: u32,
    pub block_number: u64,
    pub timestamp: Timestamp,
    pub token_address: Address,
    pub token_type: TokenType,
    /// The zero address for a mint.
    pub from_address: Address,
    /// The zero address for a burn.
    pub to_address: Address,
    /// The amount in the token's smallest unit; 1 for an NFT.
    pub value: Decimal,
    /// Null for fungible tokens.
    #[schema(required = true)]
    pub token_id: Option<Decimal>,
    /// Position in a batch transfer; 0 for all others.
    pub batch_index: u32,
    /// Null until it is read, as is the symbol; empty if the contract has none.
    #[schema(required = true)]
    pub token_name: Option<String>,
    #[schema(required = true)]
    pub token_symbol: Option<String>,
    /// Null until they are read, and if the contract has none.
    #[schema(required = true)]
    pub token_decimals: Option<u8>,
}

impl TokenTransfer {
    #[must_use]
    pub fn new(transfer: domain::Transfer, prefix: TokenPrefix) -> Self {
        let event = transfer.event;
        Self {
            tx_hash: transfer.tx_hash.into(),
            log_index: event.log_index,
            block_number: transfer.block_number,
            timestamp: Timestamp::from_unix_seconds(transfer.timestamp),
            token_address: event.token.into(),
            token_type: TokenType::new(event.kind, prefix),
            from_address: event.from.into(),
            to_address: event.to.into(),
            value: event.value.into(),
            token_id: event.token_id.map(Decimal::from),
            batch_index: event.batch_index,
            token_name: transfer.token_name,
            token_symbol: transfer.token_symbol,
            token_decimals: transfer.token_decimals,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, TokenKind, Transfer, U256};

    use super::*;

    #[test]
    fn a_payment_has_the_documented_names_and_types() {
        insta::assert_json_snapshot!(TokenTransfer::new(Transfer::sample(), TokenPrefix::Bep));
    }

    #[test]
    fn a_batch_transfer_has_its_id_and_position() {
        let mut minted = Transfer::sample();
        minted.event.kind = TokenKind::Bep1155;
        minted.event.from = Address::ZERO;
        minted.event.batch_index = 3;
        minted.event.token_id = Some(U256::MAX);
        minted.event.value = U256::ZERO;
        minted.token_name = None;
        minted.token_symbol = None;
        minted.token_decimals = None;
        insta::assert_json_snapshot!(TokenTransfer::new(minted, TokenPrefix::Erc));
    }
}
