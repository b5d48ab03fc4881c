use serde::Deserialize;

use super::quantity::{Account20, Hash, LooseBytes, Price, Quantity, Wide};

/// The header of a block that another one of its height replaced.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawUncle {
    pub(crate) parent_hash: Hash,
    pub(crate) sha3_uncles: Hash,
    pub(crate) miner: Account20,
    pub(crate) state_root: Hash,
    pub(crate) transactions_root: Hash,
    pub(crate) receipts_root: Hash,
    pub(crate) logs_bloom: LooseBytes,
    pub(crate) difficulty: Wide,
    pub(crate) number: Quantity,
    pub(crate) gas_limit: Quantity,
    pub(crate) gas_used: Quantity,
    pub(crate) timestamp: Quantity,
    pub(crate) extra_data: LooseBytes,
    pub(crate) mix_hash: Hash,
    pub(crate) nonce: LooseBytes,
    pub(crate) base_fee_per_gas: Option<Price>,
}
