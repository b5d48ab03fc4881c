use serde::Deserialize;

use super::quantity::{Account20, Hash, HexBytes, LooseBytes, Present, Price, Quantity, Wide};

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawReceipt {
    pub(crate) transaction_hash: Hash,
    pub(crate) transaction_index: Quantity,
    pub(crate) block_hash: Hash,
    pub(crate) gas_used: Quantity,
    pub(crate) cumulative_gas_used: Option<Quantity>,
    #[serde(rename = "type")]
    pub(crate) tx_type: Option<Quantity>,
    /// Of an L1 deposit, as is the next.
    pub(crate) deposit_nonce: Option<Quantity>,
    pub(crate) deposit_receipt_version: Option<Quantity>,
    pub(crate) effective_gas_price: Option<Price>,
    pub(crate) blob_gas_used: Option<Quantity>,
    pub(crate) blob_gas_price: Option<Price>,
    /// Of a rollup, as are the next five.
    pub(crate) l1_fee: Option<Wide>,
    pub(crate) operator_fee_scalar: Option<Wide>,
    pub(crate) operator_fee_constant: Option<Wide>,
    /// Since the rule of the operator's fee changed (Jovian).
    pub(crate) da_footprint_gas_scalar: Option<Present>,
    /// Where the gas used already includes the fee for the chain below (Mantle).
    pub(crate) token_ratio: Option<Present>,
    pub(crate) status: Option<Quantity>,
    /// The state root that receipts had before the status.
    pub(crate) root: Option<LooseBytes>,
    pub(crate) contract_address: Option<Account20>,
    pub(crate) logs: Vec<RawLog>,
}

impl RawReceipt {
    /// None before Byzantium, when receipts had the root of the state instead of a status.
    pub(crate) fn succeeded(&self) -> Option<bool> {
        self.status.map(|status| status.0 != 0)
    }
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawLog {
    pub(crate) address: Account20,
    pub(crate) topics: Vec<Hash>,
    pub(crate) data: HexBytes,
    pub(crate) log_index: Quantity,
    pub(crate) block_hash: Option<Hash>,
    pub(crate) transaction_hash: Option<Hash>,
    #[serde(default)]
    pub(crate) removed: Option<bool>,
}
