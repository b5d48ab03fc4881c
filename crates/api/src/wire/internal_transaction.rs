use domain::{InternalKind, InternalPage};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Timestamp, list::list};
use crate::params::Paging;

/// `transfer` and `burn` are known from a log (EIP-7708), not from a trace.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum InternalType {
    Call,
    Create,
    Create2,
    SelfDestruct,
    /// Coins that moved in one of these ways, known from a log of EIP-7708 and not from a trace.
    Transfer,
    /// Coins that were destroyed, known likewise.
    Burn,
}

impl From<InternalKind> for InternalType {
    fn from(kind: InternalKind) -> Self {
        match kind {
            InternalKind::Call => Self::Call,
            InternalKind::Create => Self::Create,
            InternalKind::Create2 => Self::Create2,
            InternalKind::SelfDestruct => Self::SelfDestruct,
            InternalKind::Transfer => Self::Transfer,
            InternalKind::Burn => Self::Burn,
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InternalTransaction {
    pub tx_hash: Hash,
    /// In the transaction, in the order of execution, from 0.
    pub position: u32,
    pub block_number: u64,
    pub timestamp: Timestamp,
    #[serde(rename = "type")]
    pub kind: InternalType,
    pub from_address: Address,
    /// The receiver, or the created contract; null for a failed creation, and for coins that were destroyed.
    #[schema(required = true)]
    pub to_address: Option<Address>,
    /// In wei. It did not move if `error` is not null.
    pub value: Decimal,
    /// Null for what is known from a log.
    #[schema(required = true)]
    pub gas: Option<Decimal>,
    /// Null as `gas`, and for a failed call if the trace does not tell it.
    #[schema(required = true)]
    pub gas_used: Option<Decimal>,
    /// Why the call, or one that it is inside of, failed; null if it succeeded.
    #[schema(required = true, example = "execution reverted")]
    pub error: Option<String>,
}

impl From<domain::InternalTransaction> for InternalTransaction {
    fn from(found: domain::InternalTransaction) -> Self {
        let event = found.event;
        Self {
            tx_hash: found.tx_hash.into(),
            position: event.position,
            block_number: found.block_number,
            timestamp: Timestamp::from_unix_seconds(found.timestamp),
            kind: event.kind.into(),
            from_address: event.from.into(),
            to_address: event.to.map(Address::from),
            value: event.value.into(),
            gas: event.known_gas().map(Decimal::from),
            gas_used: event.known_gas_used().map(Decimal::from),
            error: event.error,
        }
    }
}

list! {
    pub struct InternalTransactionList with coverage {
        internal_transactions: InternalTransaction,
        total,
        /// The first block from which the list is complete, up to `completeTo`. Null without traces: then nothing is known.
        #[schema(required = true)]
        complete_from: Option<u64>,
        /// Null without traces.
        #[schema(required = true)]
        complete_to: Option<u64>,
    }
}

impl InternalTransactionList {
    #[must_use]
    pub fn new(found: InternalPage, paging: Paging, coverage: domain::Coverage) -> Self {
        let InternalPage { page, traced_range } = found;
        Self::of(
            page.map(InternalTransaction::from),
            paging,
            traced_range.map(|range| range.from),
            traced_range.map(|range| range.to),
            coverage,
        )
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, InternalEvent, Page, TracedRange, U256};

    use super::*;

    #[test]
    fn a_page_of_internal_transactions_has_the_documented_names_and_types() {
        let payment = domain::InternalTransaction {
            event: InternalEvent {
                tx_index: 2,
                position: 1,
                kind: InternalKind::Call,
                from: Address::repeat_byte(0xaa),
                to: Some(Address::repeat_byte(0xbb)),
                value: U256::MAX,
                gas: 90_000,
                gas_used: 21_000,
                error: None,
            },
            tx_hash: B256::repeat_byte(0xcc),
            block_number: 17,
            timestamp: 1_794_700_800,
        };
        let mut failed = payment.clone();
        (failed.event.kind, failed.event.to) = (InternalKind::Create2, None);
        failed.event.error = Some("execution reverted".to_owned());
        let page = Page { items: vec![failed, payment], total: 2 };
        let found = InternalPage { page, traced_range: Some(TracedRange { from: 3, to: 17 }) };
        insta::assert_json_snapshot!(InternalTransactionList::new(
            found,
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
