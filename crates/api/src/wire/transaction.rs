use domain::Page;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Receiver, Selector, Timestamp, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    pub hash: Hash,
    pub block_number: u64,
    pub from_address: Address,
    pub to_address: Receiver,
    /// In wei.
    pub value: Decimal,
    /// Effective, in wei.
    pub gas_price: Decimal,
    pub gas_used: Decimal,
    /// All that was paid, in wei of the chain's coin: for gas, for blobs, and on a rollup for the chain below and its
    /// operator. "0" for a deposit, and if it was paid in a token.
    pub fee: Decimal,
    /// True if it succeeded, and if that is not known.
    pub status: bool,
    /// False if nothing tells whether it succeeded: receipts before Byzantium have no status, and the node did not trace
    /// the block.
    pub status_known: bool,
    pub timestamp: Timestamp,
    pub block_hash: Hash,
    /// In the block, from 0.
    pub index: u32,
    pub nonce: u64,
    #[schema(required = true)]
    pub method: Option<Selector>,
    /// The contract that it created, or null.
    #[schema(required = true)]
    pub contract_address: Option<Address>,
}

impl From<domain::Transaction> for Transaction {
    fn from(tx: domain::Transaction) -> Self {
        Self {
            hash: tx.hash.into(),
            block_number: tx.block_number,
            from_address: tx.from.into(),
            to_address: tx.to.into(),
            value: tx.value.into(),
            gas_price: tx.gas_price.into(),
            gas_used: tx.gas_used.into(),
            fee: tx.fee().into(),
            status: tx.succeeded,
            status_known: tx.status_known,
            timestamp: Timestamp::from_unix_seconds(tx.timestamp),
            block_hash: tx.block_hash.into(),
            index: tx.index,
            nonce: tx.nonce,
            method: tx.method.map(Selector::from),
            contract_address: tx.created.map(Address::from),
        }
    }
}

list! {
    pub struct TransactionList with coverage {
        transactions: Transaction,
        total,
    }
}

impl TransactionList {
    #[must_use]
    pub fn new(transactions: Page<domain::Transaction>, paging: Paging, coverage: domain::Coverage) -> Self {
        Self::of(transactions.map(Transaction::from), paging, coverage)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, Transaction as Indexed};

    use super::*;

    #[test]
    fn a_page_of_transactions_has_the_documented_names_and_types() {
        let call = Indexed::sample();
        let creation = Indexed { to: None, created: Some(Address::repeat_byte(0xee)), method: None, ..call.clone() };
        let failure = Indexed { succeeded: false, ..call.clone() };
        let page = Page { items: vec![call, creation, failure], total: 3 };
        insta::assert_json_snapshot!(TransactionList::new(
            page,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
