use serde::Deserialize;

use super::quantity::{Account20, Hash, Price, Quantity, SelectorOf, Wide};

/// A block without its transactions.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct RawHeader {
    pub(crate) number: Quantity,
    pub(crate) hash: Hash,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawBlock {
    pub(crate) number: Quantity,
    pub(crate) hash: Hash,
    pub(crate) parent_hash: Hash,
    pub(crate) timestamp: Quantity,
    pub(crate) miner: Option<Account20>,
    pub(crate) author: Option<Account20>,
    pub(crate) gas_used: Quantity,
    pub(crate) gas_limit: Quantity,
    pub(crate) base_fee_per_gas: Option<Price>,
    pub(crate) size: Option<Quantity>,
    pub(crate) transactions: Vec<RawTransaction>,
}

/// The type is not even looked at: new ones come with every fork, and the fields kept here are common to all.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawTransaction {
    pub(crate) hash: Hash,
    pub(crate) block_hash: Option<Hash>,
    pub(crate) block_number: Option<Quantity>,
    pub(crate) transaction_index: Option<Quantity>,
    pub(crate) from: Account20,
    pub(crate) to: Option<Account20>,
    pub(crate) value: Option<Wide>,
    pub(crate) nonce: Option<Quantity>,
    pub(crate) gas_price: Option<Price>,
    pub(crate) max_fee_per_gas: Option<Price>,
    pub(crate) max_priority_fee_per_gas: Option<Price>,
    pub(crate) input: Option<SelectorOf>,
    /// The name that some nodes give `input`.
    pub(crate) data: Option<SelectorOf>,
}

impl RawTransaction {
    /// What a unit of gas cost, where the receipt does not tell. A deposit from a layer below pays nothing here.
    pub(crate) fn price_at(&self, base_fee: Option<u128>) -> u128 {
        let computed = || {
            let most = self.max_fee_per_gas?.0;
            let base = base_fee.unwrap_or_default();
            let tip = self.max_priority_fee_per_gas.unwrap_or_default().0;
            Some(base.saturating_add(tip).min(most))
        };
        self.gas_price.map(|price| price.0).or_else(computed).unwrap_or_default()
    }
}
