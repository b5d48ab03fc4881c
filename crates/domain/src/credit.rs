use alloy_primitives::{Address, B256, U256};

use crate::{BlockNumber, BlockRange};

/// Wei of a gwei, in which withdrawals are counted.
const GWEI: u64 = 1_000_000_000;

/// Coins that an account gets from the protocol, and not from another account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditEvent {
    pub to: Address,
    /// In wei.
    pub amount: U256,
    pub source: CreditSource,
}

/// Why the protocol pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditSource {
    /// Out of the stake of a validator (EIP-4895).
    Withdrawal { index: u64, validator: u64 },
    /// For producing the block, with what including uncles adds.
    BlockReward,
    /// For a block that another one of its height replaced.
    UncleReward {
        number: BlockNumber,
        hash: B256,
        /// Of the uncle, unix seconds.
        timestamp: u64,
    },
    /// Coins that a deposit brought from the chain below.
    Mint { tx_index: u32 },
    /// Coins that the account has since the first block.
    Genesis,
}

crate::all_variants! {
    /// Lists of credits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CreditClass {
        Withdrawals,
        /// New coins: rewards, mints, and those of the first block.
        Issuances,
        /// Those of them for uncles.
        UncleRewards,
    }
}

/// A filter of credits: all conditions that are set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CreditFilter {
    /// Those of a class to an address.
    pub of: Option<(Address, CreditClass)>,
    pub blocks: BlockRange,
}

/// A credit with its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    pub event: CreditEvent,
    pub block_number: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
}

impl CreditEvent {
    /// A withdrawal, whose amount blocks contain in gwei.
    #[must_use]
    pub fn withdrawal(index: u64, validator: u64, to: Address, gwei: u64) -> Self {
        let amount = U256::from(gwei) * U256::from(GWEI);
        Self { to, amount, source: CreditSource::Withdrawal { index, validator } }
    }

    #[must_use]
    pub fn is_of(&self, class: CreditClass) -> bool {
        self.source.classes().contains(&class)
    }
}

impl CreditSource {
    /// The lists of its receiver that it is in.
    #[must_use]
    pub fn classes(self) -> &'static [CreditClass] {
        match self {
            Self::Withdrawal { .. } => &[CreditClass::Withdrawals],
            Self::BlockReward | Self::Mint { .. } | Self::Genesis => &[CreditClass::Issuances],
            Self::UncleReward { .. } => &[CreditClass::Issuances, CreditClass::UncleRewards],
        }
    }
}

impl CreditFilter {
    #[must_use]
    pub fn of(to: Address, class: CreditClass) -> Self {
        Self { of: Some((to, class)), blocks: BlockRange::ALL }
    }

    /// The reference semantics of the filter; stores use an index.
    #[must_use]
    pub fn matches(&self, credit: &Credit) -> bool {
        self.of.is_none_or(|(to, class)| credit.event.to == to && credit.event.is_of(class))
            && self.blocks.contains(credit.block_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_withdrawal_of_gwei_is_an_amount_of_wei() {
        let paid = CreditEvent::withdrawal(1, 2, Address::ZERO, u64::MAX);
        assert_eq!(paid.amount.to_string(), format!("{}000000000", u64::MAX));
        assert!(paid.is_of(CreditClass::Withdrawals) && !paid.is_of(CreditClass::Issuances));
    }
}
