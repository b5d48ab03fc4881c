//! The method of a transaction in one word: the function's name in the verified contract, or else a well-known function name,
//! or else the selector.

use std::collections::HashMap;

use domain::{Address, Transaction};
use store::StoreError;

use crate::{interfaces::KnownInterface, state::WebState, view::sanitize_name};

const KNOWN: [([u8; 4], &str); 24] = [
    ([0xa9, 0x05, 0x9c, 0xbb], "transfer"),
    ([0x23, 0xb8, 0x72, 0xdd], "transferFrom"),
    ([0x09, 0x5e, 0xa7, 0xb3], "approve"),
    ([0xa2, 0x2c, 0xb4, 0x65], "setApprovalForAll"),
    ([0x40, 0xc1, 0x0f, 0x19], "mint"),
    ([0xa0, 0x71, 0x2d, 0x68], "mint"),
    ([0x42, 0x96, 0x6c, 0x68], "burn"),
    ([0xd0, 0xe3, 0x0d, 0xb0], "deposit"),
    ([0x2e, 0x1a, 0x7d, 0x4d], "withdraw"),
    ([0x42, 0x84, 0x2e, 0x0e], "safeTransferFrom"),
    ([0xb8, 0x8d, 0x4f, 0xde], "safeTransferFrom"),
    ([0xf2, 0x42, 0x43, 0x2a], "safeTransferFrom"),
    ([0x2e, 0xb2, 0xc2, 0xd6], "safeBatchTransferFrom"),
    ([0x38, 0xed, 0x17, 0x39], "swapExactTokensForTokens"),
    ([0x7f, 0xf3, 0x6a, 0xb5], "swapExactETHForTokens"),
    ([0x18, 0xcb, 0xaf, 0xe5], "swapExactTokensForETH"),
    ([0x5c, 0x11, 0xd7, 0x95], "swapExactTokensForTokens…"),
    ([0x41, 0x4b, 0xf3, 0x89], "exactInputSingle"),
    ([0x02, 0x2c, 0x0d, 0x9f], "swap"),
    ([0x12, 0x8a, 0xcb, 0x08], "swap"),
    ([0xac, 0x96, 0x50, 0xd8], "multicall"),
    ([0x35, 0x93, 0x56, 0x4c], "execute"),
    ([0x3d, 0x18, 0xb9, 0x12], "claim"),
    ([0xe8, 0xe3, 0x37, 0x00], "addLiquidity"),
];

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
    match tx.method {
        _ if tx.to.is_none() => "create".to_owned(),
        None => "send".to_owned(),
        Some(selector) => match KNOWN.iter().find(|(known, _)| *known == selector) {
            Some((_, name)) => (*name).to_owned(),
            None => format!("{:#x}", alloy_primitives::FixedBytes(selector)),
        },
    }
}
