use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};

use crate::BlockNumber;

/// The code of an account with an EIP-7702 delegation is this prefix and the target's address.
const DELEGATION_PREFIX: [u8; 3] = [0xef, 0x01, 0x00];

/// The state of an account at a block, from the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    pub balance: U256,
    pub nonce: u64,
    pub code: Code,
    pub block: BlockNumber,
}

/// The code of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    None,
    Contract {
        hash: B256,
    },
    /// An EIP-7702 delegation: still an externally owned account, not a contract.
    Delegation {
        target: Address,
    },
}

impl Account {
    /// Whether the chain has nothing about it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.balance.is_zero() && self.nonce == 0 && self.code == Code::None
    }
}

impl Code {
    /// Classifies the bytes of an account's code.
    #[must_use]
    pub fn from_bytes(code: &[u8]) -> Self {
        match code.strip_prefix(&DELEGATION_PREFIX) {
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
    fn a_delegated_account_is_not_a_contract() {
        let mut code = DELEGATION_PREFIX.to_vec();
        code.extend([7; 20]);
        assert_eq!(Code::from_bytes(&code), Code::Delegation { target: Address::repeat_byte(7) });
        assert!(!Code::from_bytes(&code).is_contract());
    }

    #[test]
    fn code_with_only_the_prefix_of_a_delegation_is_a_contract() {
        assert!(Code::from_bytes(&[0xef, 0x01, 0x00, 0x01]).is_contract());
        assert!(Code::from_bytes(&[0x60]).is_contract());
        assert!(!Code::from_bytes(&[]).is_contract());
    }
}
