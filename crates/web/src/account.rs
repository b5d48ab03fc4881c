//! The account of an address, from the node or from the cache.

use domain::{Account, Address, BlockNumber, Code, U256};

use crate::state::WebState;

/// Node calls to fetch an account: balance, nonce and code.
pub(crate) const ACCOUNT_CALLS: u32 = 3;

pub(crate) async fn find_account(app: &WebState, address: Address) -> Option<Account> {
    let tip = app.sync.borrow().tip?;
    let may_call_node = || app.budget.allows_node_calls(ACCOUNT_CALLS);
    let account = app.accounts.get_within_budget(tip, address, &may_call_node).await;
    account.inspect_err(|error| tracing::debug!(%error, "account unavailable")).ok()
}

/// The block since which an account delegates.
pub(crate) async fn find_delegation_start(app: &WebState, address: Address, account: &Account) -> Option<BlockNumber> {
    let may_call_node = || app.budget.allows_node_calls(ACCOUNT_CALLS);
    app.delegation_starts.find(address, account, &may_call_node).await
}

/// The account of an address that no indexed block contains. One that the chain has nothing about is empty.
pub(crate) async fn find_unindexed_account(app: &WebState, address: Address) -> Option<Account> {
    let tip = app.sync.borrow().tip?;
    let may_call_node = || app.budget.allows_node_calls(ACCOUNT_CALLS);
    let account = app.accounts.find_unindexed(tip, address, &may_call_node).await;
    let account = account.inspect_err(|error| tracing::debug!(%error, "account unavailable")).ok()?;
    Some(account.unwrap_or(Account { balance: U256::ZERO, nonce: 0, code: Code::None, block: tip.number }))
}
