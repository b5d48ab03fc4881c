//! The method of a transaction in one word: the function's name in the verified contract, or else that of a standard,
//! or else the selector.

use std::collections::HashMap;

use contracts::standards;
use domain::{Address, Selector, Transaction};
use store::StoreError;

use crate::{interfaces::KnownInterface, state::WebState, view::sanitize_name};

/// The interfaces of the contracts that the transactions of a page call.
#[derive(Debug, Default)]
pub(crate) struct Methods {
    by_contract: HashMap<Address, KnownInterface>,
}

impl WebState {
    /// Looks up the contracts that these transactions call, each once, without node calls.
    pub(crate) async fn methods_of(&self, transactions: &[Transaction]) -> Result<Methods, StoreError> {
        let mut methods = Methods::default();
        let verifications = self.verified_count().await?;
        let mut called: Vec<Address> =
            transactions.iter().filter(|tx| tx.method.is_some()).filter_map(|tx| tx.to).collect();
        called.sort_unstable();
        called.dedup();
        for contract in called {
            if let Some(interface) = self.own_interface(contract, verifications).await? {
                methods.by_contract.insert(contract, interface);
            }
        }
        Ok(methods)
    }
}

impl Methods {
    /// The method of a transaction.
    pub(crate) fn name(&self, tx: &Transaction) -> String {
        let (Some(to), Some(selector)) = (tx.to, tx.method) else { return name(tx) };
        let named = self.by_contract.get(&to).and_then(|interface| interface.function_name(selector));
        named.map_or_else(|| name(tx), sanitize_name)
    }
}

/// The method of a transaction, without the contract's interface.
pub(crate) fn name(tx: &Transaction) -> String {
    name_of(tx.to, tx.method)
}

pub(crate) fn name_of(to: Option<Address>, method: Option<Selector>) -> String {
    match method {
        _ if to.is_none() => "create".to_owned(),
        None => "send".to_owned(),
        Some(selector) => match standards().function_name(selector) {
            Some(name) => name.to_owned(),
            None => format!("{:#x}", alloy_primitives::FixedBytes(selector)),
        },
    }
}
