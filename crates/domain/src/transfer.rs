use alloy_primitives::{Address, B256, U256};

use crate::{BlockNumber, BlockRange, TokenKind};

/// A token transfer, from the logs of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferEvent {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// Position of the log in its block.
    pub log_index: u32,
    /// Position in a batch transfer; 0 for other transfers.
    pub batch_index: u32,
    pub token: Address,
    pub kind: TokenKind,
    pub from: Address,
    pub to: Address,
    /// The amount; 1 for a non-fungible token.
    pub value: U256,
    /// None for fungible tokens.
    pub token_id: Option<U256>,
}

/// A transfer with its transaction and token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub event: TransferEvent,
    pub tx_hash: B256,
    pub block_number: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
    /// None if it was not read from the contract yet, like the symbol.
    pub token_name: Option<String>,
    pub token_symbol: Option<String>,
    /// None if it was not read yet, or if the contract has none.
    pub token_decimals: Option<u8>,
}

impl Transfer {
    /// A payment of the largest amount in a BEP20 token, for tests.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            event: TransferEvent {
                tx_index: 2,
                log_index: 41,
                batch_index: 0,
                token: Address::repeat_byte(0xdd),
                kind: TokenKind::Bep20,
                from: Address::repeat_byte(0xaa),
                to: Address::repeat_byte(0xbb),
                value: U256::MAX,
                token_id: None,
            },
            tx_hash: B256::repeat_byte(0xcc),
            block_number: 17,
            timestamp: 1_794_700_800,
            token_name: Some("Coin".to_owned()),
            token_symbol: Some("COIN".to_owned()),
            token_decimals: Some(18),
        }
    }
}

/// A filter of transfers: all conditions that are set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransferFilter {
    /// Sender or receiver.
    pub address: Option<Address>,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub token: Option<Address>,
    pub blocks: BlockRange,
}

impl TransferFilter {
    /// Transfers from or to an address.
    #[must_use]
    pub fn touching(address: Address) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// The reference semantics of the filter; stores use an index.
    #[must_use]
    pub fn matches(&self, event: &TransferEvent, block: BlockNumber) -> bool {
        self.address.is_none_or(|address| event.from == address || event.to == address)
            && self.from.is_none_or(|from| event.from == from)
            && self.to.is_none_or(|to| event.to == to)
            && self.token.is_none_or(|token| event.token == token)
            && self.blocks.contains(block)
    }
}
