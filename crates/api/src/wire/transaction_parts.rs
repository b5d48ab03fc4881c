use domain::{Page, TokenPrefix};
use enrichment::Dexes;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, DexTrade, Hash, Selector, TokenTransfer, list::list};
use crate::params::Paging;

list! {
    pub struct TransactionTransferList {
        transfers: TokenTransfer,
        total,
    }
}

impl TransactionTransferList {
    #[must_use]
    pub fn new(transfers: Page<domain::Transfer>, paging: Paging, prefix: TokenPrefix) -> Self {
        Self::of(transfers.map(|transfer| TokenTransfer::new(transfer, prefix)), paging)
    }
}

list! {
    pub struct TransactionTradeList {
        trades: DexTrade,
        total,
    }
}

impl TransactionTradeList {
    #[must_use]
    pub fn new(trades: Page<domain::Trade>, paging: Paging, dexes: &Dexes) -> Self {
        Self::of(trades.map(|trade| DexTrade::new(trade, dexes)), paging)
    }
}

/// The transaction itself is first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallTree {
    pub calls: Vec<TracedCall>,
    /// Calls that are not listed.
    pub left_out: usize,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TracedCall {
    /// 0 for the transaction itself.
    pub depth: u32,
    /// As the EVM calls it.
    #[serde(rename = "type")]
    #[schema(example = "DELEGATECALL")]
    pub kind: String,
    pub from_address: Address,
    /// Null if there is no contract, such as for a failed creation.
    #[schema(required = true)]
    pub to_address: Option<Address>,
    /// In wei.
    pub value: Decimal,
    pub gas_used: Decimal,
    #[schema(required = true)]
    pub method: Option<Selector>,
    /// Null if the call succeeded.
    #[schema(required = true, example = "execution reverted")]
    pub error: Option<String>,
}

impl From<node::CallTree> for CallTree {
    fn from(tree: node::CallTree) -> Self {
        let call = |frame: node::TracedFrame| TracedCall {
            depth: frame.depth,
            kind: frame.kind,
            from_address: frame.from.into(),
            to_address: frame.to.map(Address::from),
            value: frame.value.into(),
            gas_used: frame.gas_used.into(),
            method: frame.selector.map(Selector::from),
            error: frame.error,
        };
        Self { calls: tree.frames.into_iter().map(call).collect(), left_out: tree.left_out }
    }
}

/// By address.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateChanges {
    pub accounts: Vec<AccountChange>,
    /// Accounts that are not listed.
    pub left_out: usize,
}

/// What stayed the same is null.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountChange {
    pub address: Address,
    /// In wei.
    #[schema(required = true)]
    pub balance: Option<NumberChange>,
    #[schema(required = true)]
    pub nonce: Option<NumberChange>,
    /// The length of the code.
    #[schema(required = true)]
    pub code_bytes: Option<NumberChange>,
    pub storage: Vec<SlotChange>,
    /// Slots that are not listed.
    pub slots_left_out: usize,
    /// Whether it does not exist any more.
    pub destroyed: bool,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NumberChange {
    pub before: Decimal,
    pub after: Decimal,
}

impl<T: Into<Decimal>> From<node::Change<T>> for NumberChange {
    fn from(change: node::Change<T>) -> Self {
        Self { before: change.before.into(), after: change.after.into() }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SlotChange {
    pub slot: Hash,
    pub before: Hash,
    pub after: Hash,
}

impl From<node::StateChanges> for StateChanges {
    fn from(changes: node::StateChanges) -> Self {
        let length = |change: node::Change<usize>| NumberChange {
            before: Decimal::from(change.before as u64),
            after: Decimal::from(change.after as u64),
        };
        let slot = |change: node::SlotChange| SlotChange {
            slot: change.slot.into(),
            before: change.value.before.into(),
            after: change.value.after.into(),
        };
        let account = |change: node::AccountChange| AccountChange {
            address: change.address.into(),
            balance: change.balance.map(NumberChange::from),
            nonce: change.nonce.map(NumberChange::from),
            code_bytes: change.code.map(length),
            storage: change.slots.into_iter().map(slot).collect(),
            slots_left_out: change.slots_left_out,
            destroyed: change.is_destroyed,
        };
        Self { accounts: changes.accounts.into_iter().map(account).collect(), left_out: changes.left_out }
    }
}

#[cfg(test)]
mod tests {
    use domain::{B256, U256};

    use super::*;

    #[test]
    fn state_changes_have_the_documented_names_and_types() {
        let changes = node::StateChanges {
            accounts: vec![node::AccountChange {
                address: domain::Address::repeat_byte(0xaa),
                balance: Some(node::Change { before: U256::from(5), after: U256::MAX }),
                nonce: None,
                code: Some(node::Change { before: 0, after: 120 }),
                slots: vec![node::SlotChange {
                    slot: B256::with_last_byte(1),
                    value: node::Change { before: B256::ZERO, after: B256::repeat_byte(0xbb) },
                }],
                slots_left_out: 3,
                is_destroyed: false,
            }],
            left_out: 0,
        };
        insta::assert_json_snapshot!(StateChanges::from(changes));
    }

    #[test]
    fn calls_have_the_documented_names_and_types() {
        let call = node::TracedFrame {
            depth: 1,
            kind: "STATICCALL".to_owned(),
            from: domain::Address::repeat_byte(0xaa),
            to: Some(domain::Address::repeat_byte(0xbb)),
            value: U256::ZERO,
            gas_used: 2_300,
            selector: Some([0xa9, 5, 0x9c, 0xbb]),
            error: None,
        };
        let failed = node::TracedFrame {
            kind: "CREATE".to_owned(),
            to: None,
            selector: None,
            error: Some("out of gas".to_owned()),
            ..call.clone()
        };
        insta::assert_json_snapshot!(CallTree::from(node::CallTree { frames: vec![call, failed], left_out: 7 }));
    }
}
