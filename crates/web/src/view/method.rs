//! The method of a transaction in one word: the function's name in the verified contract, or else that of a standard,
//! or else the selector.

use std::collections::HashMap;

use contracts::{KnownInterface, standards};
use domain::{Address, Selector, Transaction};

use super::sanitize_name;

/// The interfaces of the contracts that the transactions of a page call.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    by_contract: HashMap<Address, KnownInterface>,
}

impl Methods {
    /// Adds the interface of a called contract.
    pub(crate) fn insert(&mut self, contract: Address, interface: KnownInterface) {
        self.by_contract.insert(contract, interface);
    }

    /// The method of a transaction.
    pub(crate) fn name(&self, tx: &Transaction) -> String {
        let (Some(to), Some(selector)) = (tx.to, tx.method) else { return method_name(tx) };
        let named = self.by_contract.get(&to).and_then(|interface| interface.function_name(selector));
        named.map_or_else(|| method_name(tx), sanitize_name)
    }
}

/// The method of a transaction, without the contract's interface.
pub(crate) fn method_name(tx: &Transaction) -> String {
    method_name_of(tx.to, tx.method)
}

pub(crate) fn method_name_of(to: Option<Address>, method: Option<Selector>) -> String {
    match method {
        _ if to.is_none() => "create".to_owned(),
        None => "send".to_owned(),
        Some(selector) => match standards().function_name(selector) {
            Some(name) => name.to_owned(),
            None => format!("{:#x}", alloy_primitives::FixedBytes(selector)),
        },
    }
}
