use domain::Page;
use enrichment::{AccountListing, RankedAccount, UnknownAccounts};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Account {
    /// From 1. Equal balances are in the order of addresses.
    pub rank: u64,
    pub address: Address,
    /// In wei.
    pub balance: Decimal,
    /// From or to the address.
    pub tx_count: u64,
}

list! {
    pub struct AccountList with coverage {
        accounts: Account,
        total,
        /// That of all balances. Null before the first were read.
        #[schema(required = true)]
        block: Option<u64>,
        /// Whether all accounts with coins are known and were read. Otherwise larger accounts may be missing.
        all_addresses_read: bool,
        /// Which accounts may be missing; empty if none.
        missing: Vec<MissingAccounts>,
        /// How many of them were read.
        addresses_read: u64,
        percent_read: u8,
    }
}

/// Why accounts may be missing.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingAccounts {
    /// Not all addresses of the index have been read yet.
    Unread,
    /// The index does not begin with the first block: those that only earlier blocks paid.
    EarlierBlocks,
    /// Those that only have what the first block granted, which nodes do not list: the operator has not given it.
    Genesis,
    /// Those that only contracts paid, in blocks whose internal transactions are not indexed.
    InternalTransactions,
    /// Those that only the protocol paid, in ways that are not known: rewards on a chain with other rules, fees that a rollup gives to
    /// vaults.
    ProtocolPayments,
}

impl MissingAccounts {
    fn of(listing: &AccountListing) -> Vec<Self> {
        let unread = (!listing.is_complete).then_some(Self::Unread);
        let unknown = listing.unknown.iter().map(|unknown| match unknown {
            UnknownAccounts::EarlierBlocks => Self::EarlierBlocks,
            UnknownAccounts::Genesis => Self::Genesis,
            UnknownAccounts::InternalTransactions => Self::InternalTransactions,
            UnknownAccounts::ProtocolPayments => Self::ProtocolPayments,
        });
        unread.into_iter().chain(unknown).collect()
    }
}

impl AccountList {
    #[must_use]
    pub fn new(
        listing: &AccountListing,
        page: Page<RankedAccount>,
        tx_counts: Vec<u64>,
        paging: Paging,
        coverage: domain::Coverage,
    ) -> Self {
        let account = |(account, tx_count): (RankedAccount, u64)| Account {
            rank: account.rank,
            address: account.address.into(),
            balance: account.balance.into(),
            tx_count,
        };
        let accounts = page.items.into_iter().zip(tx_counts).map(account).collect();
        Self::of(
            Page { items: accounts, total: page.total },
            paging,
            listing.block.map(|block| block.number),
            listing.has_all(),
            MissingAccounts::of(listing),
            listing.addresses_read,
            listing.percent,
            coverage,
        )
    }
}

#[cfg(test)]
mod tests {
    use domain::U256;

    use super::*;

    #[test]
    fn accounts_have_the_documented_names_and_types() {
        let account = RankedAccount { rank: 26, address: domain::Address::repeat_byte(0xab), balance: U256::MAX };
        let block = domain::BlockRef { number: 18_250, hash: domain::B256::repeat_byte(1) };
        let listing = AccountListing {
            block: Some(block),
            is_complete: true,
            addresses_read: 120_000,
            percent: 100,
            ..AccountListing::default()
        };
        let page = Page { items: vec![account], total: 1_000 };
        let coverage = domain::Coverage { first_block: Some(0) };
        insta::assert_json_snapshot!(AccountList::new(&listing, page, vec![42], Paging::default(), coverage), @r#"
        {
          "accounts": [
            {
              "rank": 26,
              "address": "0xabababababababababababababababababababab",
              "balance": "115792089237316195423570985008687907853269984665640564039457584007913129639935",
              "txCount": 42
            }
          ],
          "total": 1000,
          "page": 1,
          "limit": 25,
          "block": 18250,
          "allAddressesRead": true,
          "missing": [],
          "addressesRead": 120000,
          "percentRead": 100,
          "firstIndexedBlock": 0,
          "complete": true
        }
        "#);
        let unread = AccountList::new(
            &AccountListing::default(),
            Page::empty(0),
            Vec::new(),
            Paging::default(),
            domain::Coverage::default(),
        );
        let unread = serde_json::to_value(unread).unwrap();
        assert_eq!((&unread["block"], &unread["allAddressesRead"]), (&serde_json::Value::Null, &false.into()));
        assert_eq!(unread["missing"], serde_json::json!(["unread"]));
        let unknown = [UnknownAccounts::Genesis, UnknownAccounts::ProtocolPayments].into();
        let listing = AccountListing { is_complete: true, unknown, ..AccountListing::default() };
        let listed =
            AccountList::new(&listing, Page::empty(0), Vec::new(), Paging::default(), domain::Coverage::default());
        let listed = serde_json::to_value(listed).unwrap();
        assert_eq!(
            (&listed["allAddressesRead"], &listed["missing"]),
            (&false.into(), &serde_json::json!(["genesis", "protocol_payments"]))
        );
    }
}
