use std::fmt;

use alloy_primitives::Bytes;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::quantity::{Account20, Hash, HexBytes, LooseBytes, Present, Price, Quantity, Wide};

/// A block without its transactions.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct RawHeader {
    pub(crate) number: Quantity,
    pub(crate) hash: Hash,
}

/// Block 0: only its header is required; the rest shows how the chain hashes headers.
#[derive(Debug, Deserialize)]
pub(crate) struct RawGenesis {
    #[serde(flatten)]
    pub(crate) block: Option<RawBlock<IgnoredAny>>,
    #[serde(flatten)]
    pub(crate) header: RawHeader,
}

/// Fields needed only to prove the header are optional and read leniently: a chain may lack them.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawBlock<T = RawTransaction> {
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
    pub(crate) transactions: Vec<T>,
    pub(crate) sha3_uncles: Option<LooseBytes>,
    pub(crate) state_root: Option<LooseBytes>,
    pub(crate) transactions_root: Option<LooseBytes>,
    pub(crate) receipts_root: Option<LooseBytes>,
    pub(crate) logs_bloom: Option<LooseBytes>,
    pub(crate) difficulty: Option<Wide>,
    pub(crate) extra_data: Option<LooseBytes>,
    pub(crate) mix_hash: Option<LooseBytes>,
    pub(crate) nonce: Option<LooseBytes>,
    pub(crate) withdrawals_root: Option<LooseBytes>,
    pub(crate) blob_gas_used: Option<Quantity>,
    pub(crate) excess_blob_gas: Option<Quantity>,
    pub(crate) parent_beacon_block_root: Option<LooseBytes>,
    pub(crate) requests_hash: Option<LooseBytes>,
    pub(crate) block_access_list_hash: Option<LooseBytes>,
    pub(crate) slot_number: Option<Quantity>,
    /// Lists next to the header.
    pub(crate) uncles: Option<Vec<Hash>>,
    pub(crate) withdrawals: Option<Vec<RawWithdrawal>>,
    #[serde(flatten)]
    pub(crate) other_fields: FieldNames,
}

/// A withdrawal of a validator (EIP-4895).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawWithdrawal {
    pub(crate) index: Quantity,
    pub(crate) validator_index: Quantity,
    pub(crate) address: Account20,
    /// In gwei.
    pub(crate) amount: Quantity,
}

/// Names of all fields that the struct does not declare.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldNames(pub(crate) Vec<String>);

impl<'de> Deserialize<'de> for FieldNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = FieldNames;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<FieldNames, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = fields.next_entry()? {
                    names.push(name);
                }
                Ok(FieldNames(names))
            }
        }
        deserializer.deserialize_map(Names)
    }
}

/// A transaction of any type: its fields depend on the type, and forks add new types.
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
    pub(crate) input: Option<HexBytes>,
    /// Alias of `input` at some nodes.
    pub(crate) data: Option<HexBytes>,
    #[serde(rename = "type")]
    pub(crate) tx_type: Option<Quantity>,
    pub(crate) chain_id: Option<Wide>,
    pub(crate) gas: Option<Quantity>,
    pub(crate) access_list: Option<Vec<RawAccess>>,
    pub(crate) max_fee_per_blob_gas: Option<Price>,
    pub(crate) blob_versioned_hashes: Option<Vec<Hash>>,
    pub(crate) authorization_list: Option<Vec<RawAuthorization>>,
    pub(crate) v: Option<Wide>,
    pub(crate) y_parity: Option<Quantity>,
    pub(crate) r: Option<Wide>,
    pub(crate) s: Option<Wide>,
    /// Of an L1 deposit, as are the next two.
    pub(crate) source_hash: Option<Hash>,
    pub(crate) mint: Option<Wide>,
    pub(crate) is_system_tx: Option<bool>,
    /// Of a deposit of Arbitrum, as is the next one.
    pub(crate) request_id: Option<Present>,
    pub(crate) deposit_value: Option<Wide>,
    /// Fields that some chains add to the encoding of standard types.
    pub(crate) eth_value: Option<Present>,
    pub(crate) eth_tx_value: Option<Present>,
    pub(crate) fee_currency: Option<LooseBytes>,
    pub(crate) gateway_fee: Option<Present>,
}

/// An entry of an EIP-2930 access list.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawAccess {
    pub(crate) address: Account20,
    pub(crate) storage_keys: Vec<Hash>,
}

/// An EIP-7702 authorization.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RawAuthorization {
    pub(crate) chain_id: Wide,
    pub(crate) address: Account20,
    pub(crate) nonce: Quantity,
    pub(crate) y_parity: Option<Quantity>,
    pub(crate) v: Option<Quantity>,
    pub(crate) r: Wide,
    pub(crate) s: Wide,
}

impl RawTransaction {
    pub(crate) fn call_data(&self) -> &[u8] {
        self.input.as_ref().or(self.data.as_ref()).map_or(&[], |data| &data.0)
    }

    pub(crate) fn input(&self) -> Bytes {
        self.input.as_ref().or(self.data.as_ref()).map(|data| data.0.clone()).unwrap_or_default()
    }

    /// The gas price if the receipt does not contain it. None if it cannot be told: a type of transaction that pays for its gas has
    /// the fields for it. An L1 deposit pays nothing here, and other types of some chains have no price.
    pub(crate) fn price_at(&self, base_fee: Option<u128>) -> Option<u128> {
        /// Of the types that every chain has: legacy, access list, EIP-1559, blobs and delegation.
        const LAST_COMMON_TYPE: u64 = 4;
        let computed = || {
            let (most, tip) = (self.max_fee_per_gas?.0, self.max_priority_fee_per_gas?.0);
            // No price that is computed is above what the transaction allows.
            Some(base_fee?.saturating_add(tip).min(most))
        };
        let has_no_price = self.tx_type.is_some_and(|tx_type| tx_type.0 > LAST_COMMON_TYPE);
        self.gas_price.map(|price| price.0).or_else(computed).or(has_no_price.then_some(0))
    }
}
