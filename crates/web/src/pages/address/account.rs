use domain::{Account, Address, Code, U256};

use crate::{
    state::WebState,
    view::{AddressLink, Amount, BlockLink, PageNames, grouped},
};

/// Node calls to fetch an account: balance, nonce and code.
pub(super) const ACCOUNT_CALLS: u32 = 3;

pub(super) struct AccountView {
    pub(super) balance: Amount,
    pub(super) block: BlockLink,
    pub(super) nonce: String,
    pub(super) delegate: Option<AddressLink>,
}

impl WebState {
    pub(in crate::pages) async fn account(&self, address: Address) -> Option<Account> {
        let tip = self.sync.borrow().tip?;
        let may_call_node = || self.budget.allows_node_calls(ACCOUNT_CALLS);
        let account = self.accounts.get_within_budget(tip, address, &may_call_node).await;
        account.inspect_err(|error| tracing::debug!(%error, "account unavailable")).ok()
    }

    /// The account of an address that no indexed block contains. One that the chain has nothing about is empty.
    pub(super) async fn unindexed_account(&self, address: Address) -> Option<Account> {
        let tip = self.sync.borrow().tip?;
        let may_call_node = || self.budget.allows_node_calls(ACCOUNT_CALLS);
        let account = self.accounts.find_unindexed(tip, address, &may_call_node).await;
        let account = account.inspect_err(|error| tracing::debug!(%error, "account unavailable")).ok()?;
        Some(account.unwrap_or(Account { balance: U256::ZERO, nonce: 0, code: Code::None, block: tip.number }))
    }
}

impl AccountView {
    pub(super) fn new(account: &Account, names: &PageNames) -> Self {
        Self {
            balance: names.coin(account.balance),
            block: BlockLink::new(account.block),
            nonce: grouped(account.nonce),
            delegate: match account.code {
                Code::Delegation { target } => Some(names.address(target)),
                Code::None | Code::Contract { .. } => None,
            },
        }
    }
}
