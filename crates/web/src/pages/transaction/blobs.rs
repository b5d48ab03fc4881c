//! Blobs that a transaction carries for a rollup (EIP-4844).

use domain::{B256, BlobFields, Fee, Transaction};

use crate::view::{Amount, PageNames, grouped};

pub(super) struct BlobsView {
    pub(super) count: String,
    /// None if the node does not say.
    pub(super) gas: Option<String>,
    pub(super) gas_price: Option<Amount>,
    pub(super) max_gas_price: Option<Amount>,
    pub(super) fee: Amount,
    pub(super) hashes: Vec<B256>,
}

impl BlobsView {
    pub(super) fn new(tx: &Transaction, blobs: &BlobFields, names: &PageNames) -> Self {
        Self {
            count: grouped(blobs.hashes.len() as u64),
            gas: blobs.gas_used.map(grouped),
            gas_price: blobs.gas_price.map(Amount::gas_price),
            max_gas_price: blobs.max_fee_per_gas.map(Amount::gas_price),
            fee: names.coin(Fee::of(tx, None).blob),
            hashes: blobs.hashes.clone(),
        }
    }
}
