use domain::{Account, Code};

use crate::view::{AddressLink, Amount, BlockLink, PageNames, grouped};

pub(super) struct AccountView {
    pub(super) balance: Amount,
    pub(super) block: BlockLink,
    pub(super) nonce: String,
    pub(super) delegate: Option<AddressLink>,
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
