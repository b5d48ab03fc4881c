//! What a transaction changed in the state of the chain.

use domain::{Address, B256, U256};

use crate::{
    NodeError,
    decode::RawStateChanges,
    internal::{self, TRANSACTION},
    upstream::{Call, Upstream},
};

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

/// None if the node does not trace states or does not have the transaction.
pub(crate) async fn trace(upstream: &Upstream, hash: B256) -> Result<Option<StateChanges>, NodeError> {
    let options = r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#;
    let call = Call::new(TRANSACTION, format!(r#"["{hash:#x}",{options}]"#)).within(internal::TIMEOUT);
    let traced = internal::trace(upstream, call, &upstream.capabilities().lacks_state_traces).await?;
    Ok(traced.and_then(|RawStateChanges(changes)| changes))
}
