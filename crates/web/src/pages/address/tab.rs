use axum::response::Response;
use contracts::UserOperationRole;
use domain::{CreditClass, Page};

use super::{
    approvals::ApprovalsView, balance::BalanceView, contract::ContractView, nfts::NftRow, tab_name::TabName,
    tab_request::TabRequest, tokens::TokenRow, transfers::ListedTransfers,
};
use crate::{
    error::PageError,
    view::{
        BlockLink, CreditRow, InternalRow, ListFile, ListedLog, TracedRangeView, TradeRow, TransactionRow,
        UserOperationRow,
    },
};

/// The content of a tab.
pub(super) enum Tab {
    Transactions(Vec<TransactionRow>),
    Transfers(ListedTransfers),
    Tokens(Vec<TokenRow>),
    Nfts(Vec<NftRow>),
    Approvals(ApprovalsView),
    Trades(Vec<TradeRow>),
    Internal(Vec<InternalRow>, Option<TracedRangeView>),
    Credits(Vec<CreditRow>),
    UserOperations(Vec<UserOperationRow>),
    /// With the first block from which they are complete.
    Logs(Vec<ListedLog>, Option<BlockLink>),
    Balance(Box<BalanceView>),
    Contract(Box<ContractView>),
}

impl TabRequest<'_> {
    /// The content of a tab and, if it is a list, the number of all entries.
    pub(super) async fn read(&self, name: TabName) -> Result<(Tab, Option<u64>), PageError> {
        Ok(match name {
            TabName::Transactions => listed(Tab::Transactions, self.transaction_rows().await?),
            TabName::Transfers => {
                let (listed, total) = self.transfer_rows().await?;
                (Tab::Transfers(listed), Some(total))
            }
            TabName::Tokens => listed(Tab::Tokens, self.token_rows().await?),
            TabName::Nfts => listed(Tab::Nfts, self.nft_rows().await?),
            TabName::Trades => listed(Tab::Trades, self.trade_rows().await?),
            TabName::Approvals => {
                let (view, total) = self.approvals().await?;
                (Tab::Approvals(view), Some(total))
            }
            TabName::Internal => {
                let (rows, range) = self.internal_rows().await?;
                listed(|rows| Tab::Internal(rows, range), rows)
            }
            TabName::Withdrawals => listed(Tab::Credits, self.credit_rows(CreditClass::Withdrawals).await?),
            TabName::Rewards => listed(Tab::Credits, self.credit_rows(CreditClass::Issuances).await?),
            TabName::UserOperations => {
                listed(Tab::UserOperations, self.user_operation_rows(UserOperationRole::Sender).await?)
            }
            TabName::SponsoredOperations => {
                listed(Tab::UserOperations, self.user_operation_rows(UserOperationRole::Paymaster).await?)
            }
            TabName::Logs => {
                let (rows, complete_from) = self.log_rows().await?;
                listed(|rows| Tab::Logs(rows, complete_from), rows)
            }
            TabName::Balance => (Tab::Balance(Box::new(self.balance().await?)), None),
            TabName::Contract => (Tab::Contract(Box::new(Box::pin(self.contract()).await?)), None),
        })
    }

    /// The page of a list as a file; None if there is no such list, or if it is not offered as a file.
    pub(super) async fn write_file(
        &self,
        name: Option<TabName>,
        file: ListFile,
    ) -> Result<Option<Response>, PageError> {
        let named = |list: &str| format!("{list}-{:#x}", self.address);
        Ok(Some(match name {
            Some(TabName::Transactions) => file.of(&named("transactions"), &self.transactions().await?.items),
            Some(TabName::Transfers) => file.of(&named("transfers"), &self.transfers().await?.items),
            Some(TabName::Tokens) => file.of(&named("tokens"), &self.tokens().await?.items),
            Some(TabName::Trades) => file.of(&named("trades"), &self.trades().await?.items),
            Some(TabName::Internal) => file.of(&named("internal-transactions"), &self.internal().await?.page.items),
            _ => return Ok(None),
        }))
    }
}

fn listed<T>(tab: impl FnOnce(Vec<T>) -> Tab, page: Page<T>) -> (Tab, Option<u64>) {
    (tab(page.items), Some(page.total))
}
