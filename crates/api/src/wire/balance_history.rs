use domain::TokenPrefix;
use enrichment::{FoundImitations, Inexact};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Timestamp, Token};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BalanceHistory {
    pub address: Address,
    /// Null for the coin of the chain.
    #[schema(required = true)]
    pub token: Option<Token>,
    /// Oldest first. The balance is the same from a point to its `lastBlockNumber`: the block before the next point, unless
    /// points between both are left out.
    pub points: Vec<BalancePoint>,
    /// Whether points are left out.
    pub thinned: bool,
    /// All balances from the end of this block on are known.
    pub complete_from: u64,
    /// Whether they are known from the first block of the chain on.
    pub complete: bool,
    pub exact: bool,
    /// Empty if all balances are exact.
    pub inexact_reasons: Vec<InexactReason>,
    /// Null before a block is indexed.
    #[schema(required = true)]
    pub first_indexed_block: Option<u64>,
}

/// The balance at the end of a block.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BalancePoint {
    pub block_number: u64,
    pub timestamp: Timestamp,
    /// In wei or the token's smallest unit; the sum over all ids for a BEP1155 token.
    pub balance: Decimal,
    /// The last block at whose end the balance is known to be the same.
    pub last_block_number: u64,
}

/// Why balances of the past may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InexactReason {
    /// Transfers do not tell the balances of the token: it takes fees or changes balances without a transfer.
    BalancesFromContract,
    /// The index does not begin with the first block: transfers before it are missing.
    PartialIndex,
    /// The address produced blocks with too many transactions to add up the fees that it earned.
    MinedBlocks,
    /// The address produced blocks by work on a chain whose rewards are not known.
    BlockRewards,
    /// What is indexed does not add up to what the node says of the first point: payments of a kind that is not indexed are missing.
    DoesNotAddUp,
    /// The node does not have the state of the first point, so that nothing tells whether payments are missing.
    Unconfirmed,
    /// It is not known whether some of the transactions succeeded: receipts before Byzantium have no status.
    UnknownOutcome,
    /// Internal transactions are not indexed for these blocks.
    NoInternalTransactions,
    /// The contract destroyed itself, and coins may have been lost with it.
    SelfDestruct,
    /// The node did not return the balance of the newest block: that of another one is used.
    BalanceOfOtherBlock,
    /// What moved does not add up to the balance, which would have been below zero before `completeFrom`.
    BelowZero,
    /// Tokens that are sent to the zero address are burned, and not counted as held.
    ZeroAddress,
}

impl From<Inexact> for InexactReason {
    fn from(reason: Inexact) -> Self {
        match reason {
            Inexact::BalancesFromContract => Self::BalancesFromContract,
            Inexact::PartialIndex => Self::PartialIndex,
            Inexact::MinedBlocks => Self::MinedBlocks,
            Inexact::BlockRewards => Self::BlockRewards,
            Inexact::DoesNotAddUp => Self::DoesNotAddUp,
            Inexact::Unconfirmed => Self::Unconfirmed,
            Inexact::UnknownOutcome => Self::UnknownOutcome,
            Inexact::NoInternalTransactions => Self::NoInternalTransactions,
            Inexact::SelfDestruct => Self::SelfDestruct,
            Inexact::BalanceOfOtherBlock => Self::BalanceOfOtherBlock,
            Inexact::BelowZero => Self::BelowZero,
            Inexact::ZeroAddress => Self::ZeroAddress,
        }
    }
}

impl BalanceHistory {
    #[must_use]
    pub fn new(
        address: domain::Address,
        history: enrichment::BalanceHistory,
        prefix: TokenPrefix,
        imitations: &FoundImitations,
    ) -> Self {
        Self {
            address: address.into(),
            token: history.token.map(|token| Token::new(token, prefix, history.coverage, imitations)),
            points: history.points.into_iter().map(BalancePoint::from).collect(),
            thinned: history.is_thinned,
            complete_from: history.complete_from,
            complete: history.is_complete,
            exact: history.inexact.is_empty(),
            inexact_reasons: history.inexact.into_iter().map(InexactReason::from).collect(),
            first_indexed_block: history.coverage.first_block,
        }
    }
}

impl From<enrichment::BalancePoint> for BalancePoint {
    fn from(point: enrichment::BalancePoint) -> Self {
        Self {
            block_number: point.block,
            timestamp: Timestamp::from_unix_seconds(point.timestamp),
            balance: point.balance.into(),
            last_block_number: point.until,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Balance, Coverage};

    use super::{super::token::tests::coin, *};

    #[test]
    fn a_history_has_the_documented_names_and_types() {
        let point = |block: u64| enrichment::BalancePoint {
            block,
            timestamp: 1_700_000_000 + block,
            balance: Balance::from(block) << 200,
            until: block + 3,
        };
        let history = enrichment::BalanceHistory {
            token: Some(coin()),
            points: vec![point(1), point(7)],
            is_thinned: true,
            complete_from: 1,
            is_complete: false,
            inexact: [Inexact::BelowZero, Inexact::BalancesFromContract].into(),
            coverage: Coverage { first_block: Some(0) },
        };
        let history = BalanceHistory::new(
            domain::Address::repeat_byte(0xaa),
            history,
            TokenPrefix::Bep,
            &FoundImitations::default(),
        );
        insta::assert_json_snapshot!(history);
    }
}
