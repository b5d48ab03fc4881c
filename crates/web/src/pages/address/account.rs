use domain::{Account, BlockNumber, Code};

use crate::view::{AddressLink, Amount, BlockLink, PageNames, grouped};

pub(super) struct AccountView {
    pub(super) balance: Amount,
    pub(super) block: BlockLink,
    pub(super) nonce: String,
    pub(super) delegate: Option<AddressLink>,
    pub(super) delegates_since: Option<BlockLink>,
}

impl AccountView {
    pub(super) fn new(account: &Account, delegates_since: Option<BlockNumber>, names: &PageNames) -> Self {
        Self {
            balance: names.coin(account.balance),
            block: BlockLink::new(account.block),
            nonce: grouped(account.nonce),
            delegates_since: delegates_since.map(BlockLink::new),
            delegate: match account.code {
                Code::Delegation { target } => Some(names.address(target)),
                Code::None | Code::Contract { .. } => None,
            },
        }
    }
}
