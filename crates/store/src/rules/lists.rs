//! All lists, each defined once.

use domain::{BlockNumber, CreditClass, PoolStyle};

use super::ChainTotals;

/// What the entries of a list are: their sequential ids, or numbers of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    Blocks,
    Transactions,
    Transfers,
    Trades,
    Logs,
    Nfts,
    Credits,
    /// Traced behind the tip: their ids follow the order of tracing.
    InternalTransactions,
}

/// What the owners of the lists of a kind are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owners {
    Addresses,
    /// Emitters with a first topic.
    LogSources,
    LogTopics,
    Nfts,
    /// Addresses in internal transactions, which have ids of their own.
    Parties,
}

/// Whether an entry says what its owner is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Party,
    None,
}

macro_rules! lists {
    ($($(#[$doc:meta])+ $kind:ident = $tag:literal, $name:literal, $owners:ident, $entries:ident, $role:ident;)+) => {
        /// A kind of lists. Lists are append-only, and a revert truncates them. The discriminant is the tag on disk, and the name is
        /// that in a database: they never change, and are never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum ListKind {
            $($(#[$doc])+ $kind = $tag,)+
        }

        impl ListKind {
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            #[must_use]
            pub fn entries(self) -> Entries {
                match self {
                    $(Self::$kind => Entries::$entries,)+
                }
            }

            fn owners(self) -> Owners {
                match self {
                    $(Self::$kind => Owners::$owners,)+
                }
            }

            fn role(self) -> Role {
                match self {
                    $(Self::$kind => Role::$role,)+
                }
            }
        }
    };
}

lists! {
    /// Transactions that an address sent or received.
    Transactions = 0, "address_transaction", Addresses, Transactions, Party;
    /// Transactions that involved an address other than as sender or receiver.
    Involved = 1, "address_involved", Addresses, Transactions, None;
    /// Blocks that an address produced.
    Mined = 2, "address_mined", Addresses, Blocks, None;
    /// Transfers that an address sent or received.
    Transfers = 3, "address_transfer", Addresses, Transfers, Party;
    /// Transfers of the token at an address.
    TokenTransfers = 4, "token_transfer", Addresses, Transfers, None;
    /// Trades that an address made.
    MakerTrades = 5, "maker_trade", Addresses, Trades, None;
    /// Trades in the v2 pools of the factory at an address.
    V2Trades = 6, "v2_trade", Addresses, Trades, None;
    /// Trades in the v3 pools of the factory at an address.
    V3Trades = 7, "v3_trade", Addresses, Trades, None;
    /// Trades in the pool at an address.
    PoolTrades = 8, "pool_trade", Addresses, Trades, None;
    /// Internal transactions of a party: those of the upper side ...
    InternalAbove = 9, "internal_above", Parties, InternalTransactions, Party;
    /// ... and those of the lower side, the newest first.
    InternalBelow = 10, "internal_below", Parties, InternalTransactions, Party;
    /// Logs that an address emitted.
    EmitterLogs = 11, "emitter_log", Addresses, Logs, None;
    /// Logs with an emitter and a first topic.
    SourceLogs = 12, "source_log", LogSources, Logs, None;
    /// Logs with a topic at the first position ...
    Topic0Logs = 13, "topic0_log", LogTopics, Logs, None;
    /// ... the second ...
    Topic1Logs = 14, "topic1_log", LogTopics, Logs, None;
    /// ... the third ...
    Topic2Logs = 15, "topic2_log", LogTopics, Logs, None;
    /// ... and the fourth.
    Topic3Logs = 16, "topic3_log", LogTopics, Logs, None;
    /// Ids of the token at an address.
    TokenNfts = 17, "token_nft", Addresses, Nfts, None;
    /// Transfers of an id of a token.
    NftTransfers = 18, "nft_transfer", Nfts, Transfers, None;
    /// Withdrawals of validators to an address.
    Withdrawals = 19, "address_withdrawal", Addresses, Credits, None;
    /// New coins that the protocol gave to an address: rewards and mints.
    Issuances = 20, "address_issuance", Addresses, Credits, None;
    /// Rewards for uncles that an address produced.
    UncleRewards = 21, "address_uncle", Addresses, Credits, None;
}

/// Identifies a list: its kind and the id of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListKey {
    pub kind: ListKind,
    pub owner: u64,
}

impl ListKind {
    /// The lists of logs by topic, by its position.
    pub const OF_TOPICS: [Self; domain::MAX_TOPICS] =
        [Self::Topic0Logs, Self::Topic1Logs, Self::Topic2Logs, Self::Topic3Logs];

    /// The trades in all pools of a factory.
    #[must_use]
    pub fn of_exchange(style: PoolStyle) -> Self {
        match style {
            PoolStyle::V2 => Self::V2Trades,
            PoolStyle::V3 => Self::V3Trades,
        }
    }

    #[must_use]
    pub fn of_credits(class: CreditClass) -> Self {
        match class {
            CreditClass::Withdrawals => Self::Withdrawals,
            CreditClass::Issuances => Self::Issuances,
            CreditClass::UncleRewards => Self::UncleRewards,
        }
    }

    #[must_use]
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| *kind as u8 == tag)
    }

    #[must_use]
    pub fn of(self, owner: u64) -> ListKey {
        ListKey { kind: self, owner }
    }

    /// Whether its entries say what their owner is to them.
    #[must_use]
    pub fn has_roles(self) -> bool {
        self.role() == Role::Party
    }

    /// Whether it lags behind the blocks.
    #[must_use]
    pub fn is_internal(self) -> bool {
        self.entries() == Entries::InternalTransactions
    }

    /// Whether an entry says that the code of its owner may have run.
    #[must_use]
    pub fn runs_owner(self) -> bool {
        self.entries() == Entries::Transactions
    }

    /// The first entry that a block can add, given its number and the totals before it: a revert to the block before cuts the list
    /// there. None if the list lags behind the blocks.
    #[must_use]
    pub fn first_entry(self, before: &ChainTotals, block: BlockNumber) -> Option<u64> {
        match self.entries() {
            Entries::Blocks => Some(block),
            Entries::Transactions => Some(before.transactions),
            Entries::Transfers => Some(before.transfers),
            Entries::Trades => Some(before.trades),
            Entries::Logs => Some(before.logs),
            Entries::Nfts => Some(before.nfts),
            Entries::Credits => Some(before.credits),
            Entries::InternalTransactions => None,
        }
    }

    /// The first owner that the chain did not have, given its totals. All are known in a list that lags behind the blocks.
    #[must_use]
    pub fn first_new_owner(self, before: &ChainTotals) -> u64 {
        match self.owners() {
            Owners::Addresses => before.addresses,
            Owners::LogSources => before.log_sources,
            Owners::LogTopics => before.log_topics,
            Owners::Nfts => before.nfts,
            Owners::Parties => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_tag_and_a_name_identify_a_kind() {
        for kind in ListKind::ALL {
            assert_eq!(ListKind::from_tag(*kind as u8), Some(*kind));
        }
        let names: BTreeSet<&str> = ListKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), ListKind::ALL.len());
    }

    #[test]
    fn a_revert_cuts_a_list_where_the_next_block_begins() {
        let before = ChainTotals {
            transactions: 5,
            transfers: 4,
            nfts: 2,
            logs: 9,
            trades: 3,
            credits: 6,
            ..ChainTotals::default()
        };
        assert_eq!(ListKind::Mined.first_entry(&before, 7), Some(7));
        assert_eq!(ListKind::Involved.first_entry(&before, 7), Some(5));
        assert_eq!(ListKind::NftTransfers.first_entry(&before, 7), Some(4));
        assert_eq!(ListKind::TokenNfts.first_entry(&before, 7), Some(2));
        assert_eq!(ListKind::V3Trades.first_entry(&before, 7), Some(3));
        assert_eq!(ListKind::Topic3Logs.first_entry(&before, 7), Some(9));
        assert_eq!(ListKind::Withdrawals.first_entry(&before, 7), Some(6));
        assert_eq!(ListKind::InternalAbove.first_entry(&before, 7), None);
    }
}
