use alloy_primitives::hex;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Receiver, Selector, TransactionDetail};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(untagged)]
pub enum FoundTransaction {
    Mined(Box<TransactionDetail>),
    Pending(Box<PendingTransaction>),
}

/// One that the node has, but no indexed block. Names are those of a mined transaction; what is known only once it is mined
/// is null or missing.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingTransaction {
    pub hash: Hash,
    /// Always null.
    #[schema(required = true)]
    pub block_number: Option<u64>,
    /// Always true; a mined transaction does not have this field.
    pub pending: bool,
    pub from_address: Address,
    pub to_address: Receiver,
    /// In wei.
    pub value: Decimal,
    /// The most that it pays per gas, in wei.
    #[schema(required = true)]
    pub gas_price: Option<Decimal>,
    pub gas_limit: Decimal,
    pub nonce: u64,
    #[schema(required = true)]
    pub method: Option<Selector>,
    /// 0 for legacy transactions, 2 for EIP-1559, and so on.
    #[serde(rename = "type")]
    pub tx_type: u64,
    #[schema(required = true)]
    pub max_fee_per_gas: Option<Decimal>,
    #[schema(required = true)]
    pub max_priority_fee_per_gas: Option<Decimal>,
    /// Call data or creation code.
    #[schema(pattern = "^0x([0-9a-f]{2})*$")]
    pub input: String,
}

impl From<domain::PendingTransaction> for PendingTransaction {
    fn from(tx: domain::PendingTransaction) -> Self {
        Self {
            method: tx.method().map(Selector::from),
            hash: tx.hash.into(),
            block_number: None,
            pending: true,
            from_address: tx.from.into(),
            to_address: tx.to.into(),
            value: tx.value.into(),
            gas_price: tx.gas_price.map(Decimal::from),
            gas_limit: u128::from(tx.gas_limit).into(),
            nonce: tx.nonce,
            tx_type: tx.tx_type,
            max_fee_per_gas: tx.max_fee_per_gas.map(Decimal::from),
            max_priority_fee_per_gas: tx.max_priority_fee_per_gas.map(Decimal::from),
            input: hex::encode_prefixed(&tx.input),
        }
    }
}
