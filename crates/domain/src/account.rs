use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};

use crate::BlockNumber;

/// How EIP-7702 marks an account that runs another's code: these bytes, then the other's address.
const DELEGATION_MARK: [u8; 3] = [0xef, 0x01, 0x00];

/// The state of an account at a block, as the node told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub balance: U256,
    pub nonce: u64,
    pub code: Code,
    pub block: BlockNumber,
}

/// What stands in the code field of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    None,
    Contract {
        hash: B256,
    },
    /// An EIP-7702 delegation: still a person's account, not a contract.
    Delegation {
        target: Address,
    },
}

impl Code {
    /// Reads the bytes that a node gives for an account's code.
    #[must_use]
    pub fn from_bytes(code: &[u8]) -> Self {
        match code.strip_prefix(&DELEGATION_MARK) {
            _ if code.is_empty() => Self::None,
            Some(target) if target.len() == 20 => Self::Delegation { target: Address::from_slice(target) },
            _ => Self::Contract { hash: keccak256(code) },
        }
    }

    /// The hash of a contract's code.
    #[must_use]
    pub fn hash(&self) -> Option<B256> {
        match self {
            Self::Contract { hash } => Some(*hash),
            Self::None | Self::Delegation { .. } => None,
        }
    }

    #[must_use]
    pub fn is_contract(&self) -> bool {
        matches!(self, Self::Contract { hash } if *hash != KECCAK256_EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegated_account_is_no_contract() {
        let mut code = DELEGATION_MARK.to_vec();
        code.extend([7; 20]);
        assert_eq!(Code::from_bytes(&code), Code::Delegation { target: Address::repeat_byte(7) });
        assert!(!Code::from_bytes(&code).is_contract());
    }

    #[test]
    fn bytes_that_only_begin_like_a_delegation_are_a_contract() {
        assert!(Code::from_bytes(&[0xef, 0x01, 0x00, 0x01]).is_contract());
        assert!(Code::from_bytes(&[0x60]).is_contract());
        assert!(!Code::from_bytes(&[]).is_contract());
    }
}
