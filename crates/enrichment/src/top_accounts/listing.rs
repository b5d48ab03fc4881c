use std::collections::BTreeSet;

use domain::{Address, BlockRef, Page, PageRequest, U256};

/// Accounts that are shown. Each is read again with every update.
pub(super) const LISTED: usize = 1_000;

/// The accounts with the largest balances.
#[derive(Debug, Clone, Default)]
pub struct AccountListing {
    /// The largest first.
    pub accounts: Vec<RankedAccount>,
    /// At which all of them have these balances; None before the first were read.
    pub block: Option<BlockRef>,
    /// Whether all addresses of the index were read.
    pub is_complete: bool,
    /// Accounts that the index may not know.
    pub unknown: BTreeSet<UnknownAccounts>,
    pub addresses_read: u64,
    /// How much of the pass over all addresses is done.
    pub percent: u8,
}

/// Why accounts with coins may not be known to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownAccounts {
    /// It does not begin with the first block.
    EarlierBlocks,
    /// What the first block granted is not known.
    Genesis,
    /// Payments inside transactions are not indexed for all blocks.
    InternalTransactions,
    /// The protocol pays in ways that are not known: rewards of a chain with other rules, fees that a rollup gives to vaults.
    ProtocolPayments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankedAccount {
    /// From 1.
    pub rank: u64,
    pub address: Address,
    pub balance: U256,
}

impl AccountListing {
    /// Whether no account that is not listed has more coins than one that is.
    #[must_use]
    pub fn has_all(&self) -> bool {
        self.is_complete && self.unknown.is_empty()
    }

    /// The order of the request is ignored: the largest come first.
    #[must_use]
    pub fn page(&self, page: PageRequest) -> Page<RankedAccount> {
        let skipped = usize::try_from(page.offset).unwrap_or(usize::MAX);
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let items = self.accounts.iter().skip(skipped).take(limit).copied().collect();
        Page { items, total: self.accounts.len() as u64 }
    }
}
