use std::collections::BTreeMap;

use serde_json::Value;

/// Everything the API returns for a chain. Two explorers of the same chain, or an explorer and the node, must have equal
/// states.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApiState {
    pub(crate) stats: Value,
    /// Newest first.
    pub(crate) blocks: Vec<Value>,
    /// Newest first.
    pub(crate) transactions: Vec<Value>,
    pub(crate) addresses: BTreeMap<String, AddressState>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AddressState {
    /// None if the address is unknown.
    pub(crate) detail: Option<Value>,
    /// Newest first.
    pub(crate) transactions: Vec<Value>,
}

impl ApiState {
    /// Like `assert_eq`, but reports the first difference instead of two whole chains.
    #[track_caller]
    pub(crate) fn assert_equals(&self, other: &Self, what: &str) {
        assert_eq!(self.stats, other.stats, "{what}: stats");
        assert_lists_equal(&self.blocks, &other.blocks, &format!("{what}: blocks"));
        assert_lists_equal(&self.transactions, &other.transactions, &format!("{what}: transactions"));
        let (ours, theirs): (Vec<_>, Vec<_>) = (self.addresses.keys().collect(), other.addresses.keys().collect());
        assert_eq!(ours, theirs, "{what}: addresses");
        for (address, ours) in &self.addresses {
            let theirs = &other.addresses[address];
            assert_eq!(ours.detail, theirs.detail, "{what}: {address}");
            assert_lists_equal(&ours.transactions, &theirs.transactions, &format!("{what}: those of {address}"));
        }
        assert_eq!(self, other, "{what}");
    }

    pub(crate) fn address_names(&self) -> impl Iterator<Item = &str> {
        self.addresses.keys().map(String::as_str)
    }

    /// The hashes of the blocks and transactions, as paths of the API.
    pub(crate) fn paths_by_hash(&self) -> Vec<String> {
        let blocks = self.blocks.iter().map(|block| format!("/api/v1/blocks/{}", text(&block["hash"])));
        let transactions = self.transactions.iter().map(|tx| format!("/api/v1/transactions/{}", text(&tx["hash"])));
        blocks.chain(transactions).collect()
    }
}

#[track_caller]
fn assert_lists_equal(ours: &[Value], theirs: &[Value], what: &str) {
    for (position, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours, theirs, "{what}, at {position}");
    }
    assert_eq!(ours.len(), theirs.len(), "{what}: how many");
}

#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}
