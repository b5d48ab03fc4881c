use domain::{Approval, ApprovalScope, Page, U256};
use enrichment::CheckedAllowances;

use super::tab_request::TabRequest;
use crate::{
    error::PageError,
    view::{AddressLink, Amount, BlockLink, Moment, NftLink, TokenLink, TransactionLink},
};

pub(super) struct ApprovalsView {
    pub(super) rows: Vec<ApprovalRow>,
    /// None if the node did not answer.
    pub(super) checked: Option<BlockLink>,
}

pub(super) struct ApprovalRow {
    pub(super) key: String,
    pub(super) token: TokenLink,
    pub(super) spender: AddressLink,
    pub(super) approved: Allowed,
    /// None if the contract could not be called.
    pub(super) remaining: Option<Allowed>,
    pub(super) hash: TransactionLink,
    pub(super) time: Moment,
}

pub(super) enum Allowed {
    Nothing,
    Amount(Amount),
    Unlimited,
    Id(NftLink),
    AllIds,
}

/// Amounts from here on are meant to be without a limit.
const UNLIMITED: U256 = U256::from_limbs([0, 0, 0, 1 << 63]);

impl TabRequest<'_> {
    /// The view, and the number of all approvals.
    pub(super) async fn approvals(&self) -> Result<(ApprovalsView, u64), PageError> {
        let names = self.names;
        let Page { items, total } = self.app.chain.list_approvals(self.address, self.page).await?;
        let checked = self.check_allowances(&items).await;
        let value = |position: usize| checked.as_ref().and_then(|checked| *checked.values.get(position)?);
        let rows = items.iter().enumerate().map(|(position, approval)| ApprovalRow {
            key: format!("{:#x}-{:#x}-{:?}", approval.token, approval.spender, approval.scope),
            token: names.token_if_read(
                approval.token,
                approval.token_symbol.as_deref(),
                approval.token_name.as_deref(),
            ),
            spender: names.address(approval.spender),
            approved: allowed(approval, approval.value),
            remaining: value(position).map(|value| allowed(approval, value)),
            hash: TransactionLink::new(approval.tx_hash),
            time: Moment::of(approval.timestamp),
        });
        let rows = rows.collect();
        Ok((ApprovalsView { rows, checked: checked.map(|checked| BlockLink::new(checked.block)) }, total))
    }

    async fn check_allowances(&self, approvals: &[Approval]) -> Option<CheckedAllowances> {
        let app = self.app;
        let tip = app.sync.borrow().tip?;
        let calls = u32::try_from(approvals.len()).unwrap_or(u32::MAX);
        if !app.budget.allows_node_calls(calls) {
            return None;
        }
        let checked = app.node_calls.run(app.allowances.check(self.address, approvals, tip)).await?;
        checked.inspect_err(|error| tracing::debug!(%error, "allowances unavailable")).ok()
    }
}

fn allowed(approval: &Approval, value: U256) -> Allowed {
    match approval.scope {
        _ if value.is_zero() => Allowed::Nothing,
        ApprovalScope::Amount if value >= UNLIMITED => Allowed::Unlimited,
        ApprovalScope::Amount => Allowed::Amount(Amount::of_token(value, approval.token_decimals)),
        ApprovalScope::Id(id) => Allowed::Id(NftLink::new(approval.token, id)),
        ApprovalScope::All => Allowed::AllIds,
    }
}
