//! Lists of ids, stored as runs: see `migrations/0001_schema.sql`.

use std::collections::BTreeMap;

use domain::{BlockNumber, PoolStyle};
pub(crate) use store::Party as Role;
use store::{ChainTotals, StoreError};
use tokio_postgres::Row;

use crate::rows::RowExt;

/// Entries of a run. A longer one would be moved out of its table.
pub(crate) const RUN_ENTRIES: usize = 128;

/// An address, by its position in the order of first appearance.
pub(crate) type AddressId = u64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum List {
    /// Transactions from or to an address.
    Transactions,
    /// Transactions that involve an address in another way.
    Involved,
    /// Blocks that an address produced.
    Mined,
    /// Transfers from or to an address.
    Transfers,
    TokenTransfers,
    MakerTrades,
    PoolTrades,
    /// By exchange, see [`exchange_owner`].
    ExchangeTrades,
    /// Internal transactions of a party, those of the upper side ...
    InternalAbove,
    /// ... and those of the lower side, the newest first.
    InternalBelow,
    /// Logs that an address emitted.
    EmitterLogs,
    /// Logs with an emitter and a first topic, by the id of both.
    SourceLogs,
    /// Logs with a topic at a position, by the id of the topic.
    Topic0Logs,
    Topic1Logs,
    Topic2Logs,
    Topic3Logs,
    /// Ids of a token.
    TokenNfts,
    /// By the number of an id of a token.
    NftTransfers,
}

/// The lists of logs by topic, by its position.
pub(crate) const TOPIC_LISTS: [List; domain::MAX_TOPICS] =
    [List::Topic0Logs, List::Topic1Logs, List::Topic2Logs, List::Topic3Logs];

impl List {
    pub(crate) const ALL: [Self; 18] = [
        Self::Transactions,
        Self::Involved,
        Self::Mined,
        Self::Transfers,
        Self::TokenTransfers,
        Self::MakerTrades,
        Self::PoolTrades,
        Self::ExchangeTrades,
        Self::InternalAbove,
        Self::InternalBelow,
        Self::EmitterLogs,
        Self::SourceLogs,
        Self::Topic0Logs,
        Self::Topic1Logs,
        Self::Topic2Logs,
        Self::Topic3Logs,
        Self::TokenNfts,
        Self::NftTransfers,
    ];

    /// The prefix of the names of its table and functions.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Transactions => "address_transaction",
            Self::Involved => "address_involved",
            Self::Mined => "address_mined",
            Self::Transfers => "address_transfer",
            Self::TokenTransfers => "token_transfer",
            Self::MakerTrades => "maker_trade",
            Self::PoolTrades => "pool_trade",
            Self::ExchangeTrades => "exchange_trade",
            Self::InternalAbove => "internal_above",
            Self::InternalBelow => "internal_below",
            Self::EmitterLogs => "emitter_log",
            Self::SourceLogs => "source_log",
            Self::Topic0Logs => "topic0_log",
            Self::Topic1Logs => "topic1_log",
            Self::Topic2Logs => "topic2_log",
            Self::Topic3Logs => "topic3_log",
            Self::TokenNfts => "token_nft",
            Self::NftTransfers => "nft_transfer",
        }
    }

    /// The first entry after a block, given the totals before the next one; None in a list that lags behind the blocks.
    pub(crate) fn end(self, kept: &ChainTotals, block: BlockNumber) -> Option<u64> {
        match self {
            Self::Transactions | Self::Involved => Some(kept.transactions),
            Self::Mined => Some(block + 1),
            Self::Transfers | Self::TokenTransfers | Self::NftTransfers => Some(kept.transfers),
            Self::TokenNfts => Some(kept.nfts),
            Self::MakerTrades | Self::PoolTrades | Self::ExchangeTrades => Some(kept.trades),
            Self::InternalAbove | Self::InternalBelow => None,
            Self::EmitterLogs
            | Self::SourceLogs
            | Self::Topic0Logs
            | Self::Topic1Logs
            | Self::Topic2Logs
            | Self::Topic3Logs => Some(kept.logs),
        }
    }

    /// The first owner that the chain did not have, given the totals; all are known in a list that lags behind the blocks.
    pub(crate) fn first_new_owner(self, before: &ChainTotals) -> u64 {
        match self {
            Self::SourceLogs => before.log_sources,
            Self::Topic0Logs | Self::Topic1Logs | Self::Topic2Logs | Self::Topic3Logs => before.log_topics,
            Self::ExchangeTrades => exchange_owner(before.addresses, PoolStyle::V2),
            Self::NftTransfers => before.nfts,
            Self::InternalAbove | Self::InternalBelow => u64::MAX,
            Self::Transactions
            | Self::Involved
            | Self::Mined
            | Self::Transfers
            | Self::TokenTransfers
            | Self::MakerTrades
            | Self::PoolTrades
            | Self::EmitterLogs
            | Self::TokenNfts => before.addresses,
        }
    }

    /// Whether its entries say what their owner is to them.
    pub(crate) fn has_roles(self) -> bool {
        match self {
            Self::Transactions | Self::Transfers | Self::InternalAbove | Self::InternalBelow => true,
            Self::Involved
            | Self::Mined
            | Self::TokenTransfers
            | Self::MakerTrades
            | Self::PoolTrades
            | Self::ExchangeTrades
            | Self::EmitterLogs
            | Self::SourceLogs
            | Self::Topic0Logs
            | Self::Topic1Logs
            | Self::Topic2Logs
            | Self::Topic3Logs
            | Self::TokenNfts
            | Self::NftTransfers => false,
        }
    }
}

/// The owner of the trades of an exchange. A style has one bit: a third one needs another layout of the table.
pub(crate) fn exchange_owner(factory: AddressId, style: PoolStyle) -> u64 {
    let style = match style {
        PoolStyle::V2 => 0,
        PoolStyle::V3 => 1,
    };
    factory << 1 | style
}

/// The bits of an entry that say what its owner is to it.
pub(crate) fn mask(role: Role) -> i32 {
    match role {
        Role::Any => 0,
        Role::Sender => 1,
        Role::Receiver => 2,
        Role::Both => 3,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    id: u64,
    role: Role,
}

impl Entry {
    pub(crate) fn new(id: u64, role: Role) -> Self {
        Self { id, role }
    }

    fn value(self) -> i64 {
        self.id.cast_signed() << 2 | i64::from(mask(self.role))
    }
}

/// How many entries a list has up to some place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) total: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// The end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tail {
    pub(crate) counts: Counts,
    /// The id of the last entry.
    pub(crate) last: Option<u64>,
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) owner: u64,
    before: Counts,
    first: i64,
    rest: Vec<i32>,
    has_roles: bool,
}

impl Run {
    /// From the columns of a list.
    pub(crate) fn from_row(row: &Row, list: List) -> Result<Self, StoreError> {
        let (sent, received) = match (list.has_roles(), row.option_u64(3)?, row.option_u64(4)?) {
            (true, Some(sent), Some(received)) => (sent, received),
            // Not counted.
            (false, None, None) => (0, 0),
            _ => return Err(StoreError::Corrupt("a run with the counts of another list")),
        };
        let before = Counts { total: row.u64(1)?, sent, received };
        let rest = row.value::<Option<Vec<i32>>>(5)?.unwrap_or_default();
        Ok(Self { owner: row.u64(0)?, before, first: row.value(2)?, rest, has_roles: list.has_roles() })
    }

    /// One run with the entries of several that follow each other; None if there are none.
    pub(crate) fn concat(runs: Vec<Self>) -> Option<Self> {
        let mut runs = runs.into_iter();
        let mut merged = runs.next()?;
        let base = merged.first & -4;
        for run in runs {
            let distance = (run.first & -4) - base;
            let entries =
                std::iter::once(run.first - base).chain(run.rest.iter().map(|rest| i64::from(*rest) + distance));
            // Within range: see `can_hold`.
            merged.rest.extend(entries.filter_map(|entry| i32::try_from(entry).ok()));
        }
        Some(merged)
    }

    /// Whether the entries of a later run can be in this one.
    pub(crate) fn can_hold(&self, later: &Self) -> bool {
        let last = (later.first & -4) + later.rest.last().map_or(3, |rest| i64::from(*rest));
        i32::try_from(last - (self.first & -4)).is_ok()
    }

    pub(crate) fn len(&self) -> usize {
        1 + self.rest.len()
    }

    pub(crate) fn first_seq(&self) -> i64 {
        self.before.total.cast_signed()
    }

    pub(crate) fn first(&self) -> i64 {
        self.first
    }

    pub(crate) fn sent_before(&self) -> Option<i64> {
        self.has_roles.then_some(self.before.sent.cast_signed())
    }

    pub(crate) fn received_before(&self) -> Option<i64> {
        self.has_roles.then_some(self.before.received.cast_signed())
    }

    pub(crate) fn rest(&self) -> Option<&[i32]> {
        (!self.rest.is_empty()).then_some(&self.rest)
    }
}

/// The entries that a commit appends. Where blocks can be reverted, no run contains entries of two of them, so that a revert
/// deletes whole runs.
#[derive(Debug, Default)]
pub(crate) struct Appended {
    by_list: BTreeMap<(List, u64), Vec<Vec<Entry>>>,
}

impl Appended {
    /// The entry is not in a run with entries below `floor`.
    pub(crate) fn push(&mut self, list: List, owner: u64, entry: Entry, floor: u64) {
        let runs = self.by_list.entry((list, owner)).or_default();
        let open = runs.last_mut().filter(|run| {
            let fits = run.first().is_some_and(|first| i32::try_from(entry.value() - (first.value() & -4)).is_ok());
            fits && run.len() < RUN_ENTRIES && run.last().is_some_and(|last| last.id >= floor)
        });
        match open {
            Some(run) => run.push(entry),
            None => runs.push(vec![entry]),
        }
    }

    pub(crate) fn owners(&self, list: List) -> impl Iterator<Item = u64> {
        self.by_list.range((list, 0)..=(list, u64::MAX)).map(|((_, owner), _)| *owner)
    }

    /// The rows of a list, and its tails after them. `tail` is the tail before.
    pub(crate) fn runs(&self, list: List, tail: impl Fn(u64) -> Tail) -> (Vec<Run>, Vec<(u64, Tail)>) {
        let (mut rows, mut tails) = (Vec::new(), Vec::new());
        for ((_, owner), runs) in self.by_list.range((list, 0)..=(list, u64::MAX)) {
            let mut end = tail(*owner);
            for entries in runs {
                let Some((first, rest)) = entries.split_first() else { continue };
                let first = first.value();
                // Within range, or the entry would have started a run.
                let rest = rest.iter().filter_map(|entry| i32::try_from(entry.value() - (first & -4)).ok()).collect();
                rows.push(Run { owner: *owner, before: end.counts, first, rest, has_roles: list.has_roles() });
                for entry in entries {
                    end.counts.total += 1;
                    end.counts.sent += u64::from(mask(entry.role) & 1 != 0);
                    end.counts.received += u64::from(mask(entry.role) & 2 != 0);
                    end.last = Some(entry.id);
                }
            }
            tails.push((*owner, end));
        }
        (rows, tails)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_the_counts_before_it_and_at_most_128_entries() {
        let mut appended = Appended::default();
        for id in 10..210 {
            let role = if id % 2 == 0 { Role::Sender } else { Role::Both };
            appended.push(List::Transactions, 7, Entry::new(id, role), 0);
        }
        let (runs, tails) = appended
            .runs(List::Transactions, |_| Tail { counts: Counts { total: 5, sent: 5, received: 1 }, last: Some(9) });
        let lengths: Vec<usize> = runs.iter().map(|run| 1 + run.rest.len()).collect();
        assert_eq!(lengths, [128, 72]);
        assert_eq!((runs[0].first_seq(), runs[0].first(), runs[0].received_before()), (5, 41, Some(1)));
        assert_eq!(runs[0].rest[..2], [7, 9], "11 in both roles, 12 as the sender, from id 10 on");
        assert_eq!((runs[1].first_seq(), runs[1].sent_before(), runs[1].received_before()), (133, Some(133), Some(65)));
        let counts = Counts { total: 205, sent: 205, received: 101 };
        assert_eq!(tails, [(7, Tail { counts, last: Some(209) })]);
        assert_eq!(appended.runs(List::Involved, |_| Tail::default()).0, []);
    }

    #[test]
    fn blocks_that_can_be_reverted_have_their_own_runs() {
        let mut appended = Appended::default();
        for id in 0..6 {
            appended.push(List::Mined, 1, Entry::new(id, Role::Any), id / 2 * 2);
        }
        let (runs, _) = appended.runs(List::Mined, |_| Tail::default());
        assert_eq!(runs.iter().map(Run::first).collect::<Vec<_>>(), [0, 8, 16]);
        assert_eq!(runs[0].sent_before(), None);
    }
}
