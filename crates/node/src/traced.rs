//! What traces of transactions tell: calls inside them, and changes of the state.

use domain::{Address, B256, InternalKind, U256};

/// A call inside a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalCall {
    pub kind: InternalKind,
    /// The position of the call among those of its parent, from the outermost call down.
    pub path: Vec<u32>,
    pub from: Address,
    /// The receiver, or the created contract; None for a failed creation.
    pub to: Option<Address>,
    pub value: U256,
    pub gas: u64,
    pub gas_used: u64,
    /// Why the call, or one that it is inside of, failed.
    pub error: Option<String>,
}

/// What a trace tells of a transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedTransaction {
    /// If the node sends it.
    pub hash: Option<B256>,
    /// Whether the transaction itself failed, and so all that is inside of it.
    pub has_failed: bool,
    pub calls: Vec<InternalCall>,
}

/// The transactions of a block, in order.
pub type BlockCalls = Vec<TracedTransaction>;

/// The calls of a transaction in the order of execution, the outermost first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallTree {
    pub frames: Vec<TracedFrame>,
    /// Calls that are not listed.
    pub left_out: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedFrame {
    /// 0 for the transaction itself.
    pub depth: u32,
    /// As the EVM calls it, such as `DELEGATECALL`.
    pub kind: String,
    pub from: Address,
    pub to: Option<Address>,
    pub value: U256,
    pub gas_used: u64,
    /// The first four bytes of the input.
    pub selector: Option<[u8; 4]>,
    /// Why this call failed.
    pub error: Option<String>,
}

/// The accounts that a transaction changed, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateChanges {
    pub accounts: Vec<AccountChange>,
    /// Accounts that are not listed.
    pub left_out: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccountChange {
    pub address: Address,
    pub balance: Option<Change<U256>>,
    pub nonce: Option<Change<u64>>,
    /// The length of the code in bytes.
    pub code: Option<Change<usize>>,
    pub slots: Vec<SlotChange>,
    /// Slots that are not listed.
    pub slots_left_out: usize,
    /// Whether the account does not exist any more.
    pub is_destroyed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<T> {
    pub before: T,
    pub after: T,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotChange {
    pub slot: B256,
    pub value: Change<B256>,
}
