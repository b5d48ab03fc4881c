use domain::Page;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Coverage, Decimal, Hash, PageNumber, PageSize, Receiver, Selector, Timestamp};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transaction {
    pub hash: Hash,
    #[schema(example = 21_000_000)]
    pub block_number: u64,
    pub from_address: Address,
    pub to_address: Receiver,
    /// In wei.
    pub value: Decimal,
    /// Effective gas price in wei.
    pub gas_price: Decimal,
    pub gas_used: Decimal,
    /// True if the transaction succeeded.
    pub status: bool,
    /// The block's time.
    pub timestamp: Timestamp,
    pub block_hash: Hash,
    /// Position in the block, starting at 0.
    #[schema(example = 4)]
    pub index: u32,
    #[schema(example = 12)]
    pub nonce: u64,
    /// The selector of the called function, or null.
    #[schema(required = true)]
    pub method: Option<Selector>,
    /// The contract that the transaction created, or null.
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
            status: tx.succeeded,
            timestamp: Timestamp::from_unix_seconds(tx.timestamp),
            block_hash: tx.block_hash.into(),
            index: tx.index,
            nonce: tx.nonce,
            method: tx.method.map(Selector::from),
            contract_address: tx.created.map(Address::from),
        }
    }
}

/// A page of transactions, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionList {
    pub transactions: Vec<Transaction>,
    /// Number of matching transactions.
    #[schema(example = 2_500_000_000_u64)]
    pub total: u64,
    #[schema(value_type = PageNumber)]
    pub page: u64,
    #[schema(value_type = PageSize)]
    pub limit: u32,
    #[serde(flatten)]
    pub coverage: Coverage,
}

impl TransactionList {
    #[must_use]
    pub fn new(transactions: Page<domain::Transaction>, paging: Paging, coverage: domain::Coverage) -> Self {
        Self {
            transactions: transactions.items.into_iter().map(Transaction::from).collect(),
            total: transactions.total,
            page: paging.page(),
            limit: paging.limit(),
            coverage: coverage.into(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use domain::{Address, B256, U256};

    use super::*;

    pub(in crate::wire) fn call() -> domain::Transaction {
        domain::Transaction {
            hash: B256::repeat_byte(0xaa),
            block_number: 17,
            block_hash: B256::repeat_byte(0xbb),
            index: 2,
            timestamp: 1_794_700_800,
            from: Address::repeat_byte(0xcc),
            to: Some(Address::repeat_byte(0xdd)),
            created: None,
            value: U256::MAX,
            nonce: 9,
            gas_used: 21_000,
            gas_price: 1_000_000_007,
            succeeded: true,
            method: Some([0xa9, 0x05, 0x9c, 0xbb]),
        }
    }

    #[test]
    fn a_page_of_transactions_has_the_documented_names_and_types() {
        let creation =
            domain::Transaction { to: None, created: Some(Address::repeat_byte(0xee)), method: None, ..call() };
        let failure = domain::Transaction { succeeded: false, ..call() };
        let page = Page { items: vec![call(), creation, failure], total: 3 };
        insta::assert_json_snapshot!(TransactionList::new(
            page,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
