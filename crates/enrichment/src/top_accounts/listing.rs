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
    /// Whether all addresses of the index were read: otherwise larger accounts may be missing.
    pub is_complete: bool,
    pub addresses_read: u64,
    /// How much of the pass over all addresses is done.
    pub percent: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankedAccount {
    /// From 1.
    pub rank: u64,
    pub address: Address,
    pub balance: U256,
}

impl AccountListing {
    /// The order of the request is ignored: the largest come first.
    #[must_use]
    pub fn page(&self, page: PageRequest) -> Page<RankedAccount> {
        let skipped = usize::try_from(page.offset).unwrap_or(usize::MAX);
        let limit = usize::try_from(page.limit).unwrap_or(usize::MAX);
        let items = self.accounts.iter().skip(skipped).take(limit).copied().collect();
        Page { items, total: self.accounts.len() as u64 }
    }
}
