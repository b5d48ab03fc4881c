use super::filter::ListFields;

domain::all_variants! {
    /// The tabs of an address.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub(super) enum TabName {
        #[default]
        Transactions,
        Transfers,
        Tokens,
        Balance,
        Nfts,
        Approvals,
        Trades,
        Internal,
        Withdrawals,
        Rewards,
        /// That the account sent (ERC-4337).
        UserOperations,
        /// That it paid for.
        SponsoredOperations,
        Logs,
        Contract,
    }
}

impl TabName {
    /// The first tab needs no name.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() { Some(Self::default()) } else { Self::ALL.into_iter().find(|name| name.text() == text) }
    }

    /// The name in URLs.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Transactions => "transactions",
            Self::Transfers => "transfers",
            Self::Tokens => "tokens",
            Self::Balance => "balance",
            Self::Nfts => "nfts",
            Self::Approvals => "approvals",
            Self::Trades => "trades",
            Self::Internal => "internal",
            Self::Withdrawals => "withdrawals",
            Self::Rewards => "rewards",
            Self::UserOperations => "user-operations",
            Self::SponsoredOperations => "sponsored-operations",
            Self::Logs => "logs",
            Self::Contract => "contract",
        }
    }

    pub(super) fn is(self, text: &str) -> bool {
        self.text() == text
    }

    /// Whether it is a list, which new blocks change.
    pub(super) fn is_list(self) -> bool {
        match self {
            Self::Transactions
            | Self::Transfers
            | Self::Tokens
            | Self::Nfts
            | Self::Approvals
            | Self::Trades
            | Self::Internal
            | Self::Withdrawals
            | Self::Rewards
            | Self::UserOperations
            | Self::SponsoredOperations
            | Self::Logs => true,
            Self::Balance | Self::Contract => false,
        }
    }

    /// Whether its list is offered as a file.
    pub(super) fn has_file(self) -> bool {
        match self {
            Self::Transactions | Self::Transfers | Self::Tokens | Self::Trades | Self::Internal => true,
            Self::Balance
            | Self::Nfts
            | Self::Approvals
            | Self::Withdrawals
            | Self::Rewards
            | Self::UserOperations
            | Self::SponsoredOperations
            | Self::Logs
            | Self::Contract => false,
        }
    }

    /// The conditions of its list; None if it cannot be filtered.
    pub(super) fn filter_fields(self) -> Option<ListFields> {
        match self {
            Self::Transactions => Some(ListFields::Method),
            Self::Transfers => Some(ListFields::Token),
            Self::Internal => Some(ListFields::None),
            Self::Tokens
            | Self::Balance
            | Self::Nfts
            | Self::Approvals
            | Self::Trades
            | Self::Withdrawals
            | Self::Rewards
            | Self::UserOperations
            | Self::SponsoredOperations
            | Self::Logs
            | Self::Contract => None,
        }
    }

    /// The path of the tab with a filter such as `&direction=in`.
    pub(super) fn path(self, address: &str, filter: &str) -> String {
        let filter = if self.filter_fields().is_some() { filter } else { "" };
        match (self, filter.strip_prefix('&')) {
            (Self::Transactions, Some(filter)) => format!("/address/{address}?{filter}"),
            (Self::Transactions, None) => format!("/address/{address}"),
            _ => format!("/address/{address}?tab={}{filter}", self.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tab_is_found_by_its_name_and_the_first_one_needs_none() {
        for name in TabName::ALL {
            assert_eq!(TabName::parse(name.text()), Some(name));
        }
        assert_eq!((TabName::parse(""), TabName::parse("other")), (Some(TabName::Transactions), None));
    }

    #[test]
    fn the_path_of_a_tab_has_its_filter_if_its_list_can_be_filtered() {
        assert_eq!(TabName::Transactions.path("0x1", ""), "/address/0x1");
        assert_eq!(TabName::Transactions.path("0x1", "&direction=in"), "/address/0x1?direction=in");
        assert_eq!(TabName::Transfers.path("0x1", "&direction=in"), "/address/0x1?tab=transfers&direction=in");
        assert_eq!(TabName::Logs.path("0x1", "&direction=in"), "/address/0x1?tab=logs");
    }
}
