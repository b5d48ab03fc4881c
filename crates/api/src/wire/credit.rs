use domain::{Credit, CreditSource, Page};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Timestamp, list::list};
use crate::params::Paging;

/// Coins out of the stake of a validator (EIP-4895).
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Withdrawal {
    /// Of all withdrawals of the chain.
    pub index: u64,
    pub validator_index: u64,
    /// The receiver.
    pub address: Address,
    /// In wei.
    pub amount: Decimal,
    pub block_number: u64,
    pub timestamp: Timestamp,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuanceKind {
    /// For producing the block, with what including uncles adds.
    BlockReward,
    /// For a block that another one of its height replaced.
    UncleReward,
    /// Coins that a deposit brought from the chain below.
    Mint,
    /// Coins that the account has since the first block.
    Genesis,
}

/// A block that another one of its height replaced.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Uncle {
    pub number: u64,
    pub hash: Hash,
    pub timestamp: Timestamp,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Issuance {
    pub kind: IssuanceKind,
    /// The receiver.
    pub address: Address,
    /// In wei.
    pub amount: Decimal,
    pub block_number: u64,
    pub timestamp: Timestamp,
    /// Null except for the reward of an uncle.
    #[schema(required = true)]
    pub uncle: Option<Uncle>,
    /// Position of the deposit in its block; null for other kinds.
    #[schema(required = true)]
    pub tx_index: Option<u32>,
}

impl Withdrawal {
    /// None for a credit of another class.
    fn new(credit: &Credit) -> Option<Self> {
        let CreditSource::Withdrawal { index, validator } = credit.event.source else { return None };
        Some(Self {
            index,
            validator_index: validator,
            address: credit.event.to.into(),
            amount: credit.event.amount.into(),
            block_number: credit.block_number,
            timestamp: Timestamp::from_unix_seconds(credit.timestamp),
        })
    }
}

impl Issuance {
    /// None for a credit of another class.
    fn new(credit: &Credit) -> Option<Self> {
        let (kind, uncle, tx_index) = match credit.event.source {
            CreditSource::Withdrawal { .. } => return None,
            CreditSource::BlockReward => (IssuanceKind::BlockReward, None, None),
            CreditSource::UncleReward { number, hash, timestamp } => {
                let timestamp = Timestamp::from_unix_seconds(timestamp);
                (IssuanceKind::UncleReward, Some(Uncle { number, hash: hash.into(), timestamp }), None)
            }
            CreditSource::Mint { tx_index } => (IssuanceKind::Mint, None, Some(tx_index)),
            CreditSource::Genesis => (IssuanceKind::Genesis, None, None),
        };
        Some(Self {
            kind,
            address: credit.event.to.into(),
            amount: credit.event.amount.into(),
            block_number: credit.block_number,
            timestamp: Timestamp::from_unix_seconds(credit.timestamp),
            uncle,
            tx_index,
        })
    }
}

list! {
    pub struct WithdrawalList with coverage {
        withdrawals: Withdrawal,
        total,
    }
}

list! {
    pub struct IssuanceList with coverage {
        issuance: Issuance,
        total,
    }
}

impl WithdrawalList {
    #[must_use]
    pub fn new(page: Page<Credit>, paging: Paging, coverage: domain::Coverage) -> Self {
        let items = page.items.iter().filter_map(Withdrawal::new).collect();
        Self::of(Page { items, total: page.total }, paging, coverage)
    }
}

impl IssuanceList {
    #[must_use]
    pub fn new(page: Page<Credit>, paging: Paging, coverage: domain::Coverage) -> Self {
        let items = page.items.iter().filter_map(Issuance::new).collect();
        Self::of(Page { items, total: page.total }, paging, coverage)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, CreditEvent, U256};

    use super::*;

    fn page(sources: &[CreditSource]) -> Page<Credit> {
        let credit = |source: &CreditSource| Credit {
            event: CreditEvent { to: Address::repeat_byte(0xaa), amount: U256::MAX, source: *source },
            block_number: 17,
            timestamp: 1_794_700_800,
        };
        Page { items: sources.iter().map(credit).collect(), total: 40 }
    }

    #[test]
    fn pages_of_credits_have_the_documented_names_and_types() {
        let coverage = domain::Coverage { first_block: Some(0) };
        let withdrawals = page(&[CreditSource::Withdrawal { index: 7, validator: 9 }]);
        insta::assert_json_snapshot!(WithdrawalList::new(withdrawals, Paging::default(), coverage), @r#"
        {
          "withdrawals": [
            {
              "index": 7,
              "validatorIndex": 9,
              "address": "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
              "amount": "115792089237316195423570985008687907853269984665640564039457584007913129639935",
              "blockNumber": 17,
              "timestamp": "2026-11-15T00:00:00.000Z"
            }
          ],
          "total": 40,
          "page": 1,
          "limit": 25,
          "firstIndexedBlock": 0,
          "complete": true
        }
        "#);
        let uncle = CreditSource::UncleReward { number: 15, hash: B256::repeat_byte(0xbb), timestamp: 1_794_700_776 };
        let issued = page(&[uncle, CreditSource::Mint { tx_index: 3 }]);
        insta::assert_json_snapshot!(IssuanceList::new(issued, Paging::default(), coverage).issuance, @r#"
        [
          {
            "kind": "uncle_reward",
            "address": "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "amount": "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            "blockNumber": 17,
            "timestamp": "2026-11-15T00:00:00.000Z",
            "uncle": {
              "number": 15,
              "hash": "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
              "timestamp": "2026-11-14T23:59:36.000Z"
            },
            "txIndex": null
          },
          {
            "kind": "mint",
            "address": "0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "amount": "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            "blockNumber": 17,
            "timestamp": "2026-11-15T00:00:00.000Z",
            "uncle": null,
            "txIndex": 3
          }
        ]
        "#);
    }
}
