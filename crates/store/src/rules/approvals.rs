//! What identifies an approval, and what is known of it.

use domain::{Address, ApprovalScope, U256};

/// Identifies an approval. Addresses are ids, except spenders, who may be in no transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApprovalKey {
    Amount {
        token: u64,
        owner: u64,
        spender: Address,
    },
    /// An id has one approval at a time, whoever owns it.
    Id {
        token: u64,
        id: U256,
    },
    All {
        token: u64,
        owner: u64,
        spender: Address,
    },
}

impl ApprovalKey {
    #[must_use]
    pub fn new(token: u64, owner: u64, spender: Address, scope: ApprovalScope) -> Self {
        match scope {
            ApprovalScope::Amount => Self::Amount { token, owner, spender },
            ApprovalScope::Id(id) => Self::Id { token, id },
            ApprovalScope::All => Self::All { token, owner, spender },
        }
    }

    #[must_use]
    pub fn token(&self) -> u64 {
        match self {
            Self::Amount { token, .. } | Self::Id { token, .. } | Self::All { token, .. } => *token,
        }
    }

    #[must_use]
    pub fn scope(&self) -> ApprovalScope {
        match self {
            Self::Amount { .. } => ApprovalScope::Amount,
            Self::Id { id, .. } => ApprovalScope::Id(*id),
            Self::All { .. } => ApprovalScope::All,
        }
    }
}

/// An approval as its last event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalState {
    pub owner: u64,
    pub spender: Address,
    /// 0 if it is revoked.
    pub value: U256,
    /// The transaction of the last event.
    pub tx: u64,
}

impl ApprovalState {
    #[must_use]
    pub fn is_given(&self) -> bool {
        !self.value.is_zero()
    }

    /// Who has it in the list of approvals; None if it is revoked.
    #[must_use]
    pub fn listed_by(&self) -> Option<u64> {
        self.is_given().then_some(self.owner)
    }
}
