//! The lists that a row belongs to, with what their owners are to it. A commit appends these entries, and a verification expects
//! them.

use domain::CreditSource;

use super::{Exchange, ListKey, ListKind};
use crate::Party;

/// Increased by every change of the lists or of their entries that an index filled before does not have.
pub const LISTS_LAYOUT: u32 = 0;

/// A list with an entry, and what its owner is to the entry.
type Listed = (ListKey, Party);

fn plain(list: ListKey) -> Listed {
    (list, Party::Any)
}

/// The lists of sender and receiver: one if they are the same.
pub fn lists_of_parties(kind: ListKind, from: u64, to: Option<u64>) -> impl Iterator<Item = Listed> {
    let sender = (kind.of(from), if to == Some(from) { Party::Both } else { Party::Sender });
    let receiver = to.filter(|to| *to != from).map(|to| (kind.of(to), Party::Receiver));
    std::iter::once(sender).chain(receiver)
}

pub fn lists_of_block(miner: u64) -> impl Iterator<Item = Listed> {
    std::iter::once(plain(ListKind::Mined.of(miner)))
}

pub fn lists_of_transaction(from: u64, to: Option<u64>) -> impl Iterator<Item = Listed> {
    lists_of_parties(ListKind::Transactions, from, to)
}

/// The lists of a transaction that involves an address otherwise.
pub fn lists_of_involvement(address: u64) -> impl Iterator<Item = Listed> {
    std::iter::once(plain(ListKind::Involved.of(address)))
}

pub fn lists_of_transfer(token: u64, from: u64, to: u64) -> impl Iterator<Item = Listed> {
    std::iter::once(plain(ListKind::TokenTransfers.of(token))).chain(lists_of_parties(
        ListKind::Transfers,
        from,
        Some(to),
    ))
}

/// The further lists of a transfer that moves an id of a token.
pub fn lists_of_nft_transfer(nft: u64) -> impl Iterator<Item = Listed> {
    std::iter::once(plain(ListKind::NftTransfers.of(nft)))
}

pub fn lists_of_nft(token: u64) -> impl Iterator<Item = Listed> {
    std::iter::once(plain(ListKind::TokenNfts.of(token)))
}

pub fn lists_of_trade(maker: u64, pool: u64, exchange: Exchange) -> impl Iterator<Item = Listed> {
    let of_exchange = ListKind::of_exchange(exchange.style).of(exchange.factory);
    [ListKind::MakerTrades.of(maker), ListKind::PoolTrades.of(pool), of_exchange].into_iter().map(plain)
}

pub fn lists_of_credit(source: CreditSource, to: u64) -> impl Iterator<Item = Listed> {
    source.classes().iter().map(move |class| plain(ListKind::of_credits(*class).of(to)))
}

/// `source` is the emitter with the first topic.
pub fn lists_of_log(emitter: u64, source: u64, topics: impl IntoIterator<Item = u64>) -> impl Iterator<Item = Listed> {
    let by_topic = ListKind::OF_TOPICS.into_iter().zip(topics).map(|(kind, topic)| kind.of(topic));
    [ListKind::EmitterLogs.of(emitter), ListKind::SourceLogs.of(source)].into_iter().chain(by_topic).map(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_sends_to_itself_has_one_entry_with_both_roles() {
        let listed = |from, to| lists_of_transaction(from, to).collect::<Vec<_>>();
        let list = |owner| ListKind::Transactions.of(owner);
        assert_eq!(listed(1, Some(2)), [(list(1), Party::Sender), (list(2), Party::Receiver)]);
        assert_eq!(listed(1, Some(1)), [(list(1), Party::Both)]);
        assert_eq!(listed(1, None), [(list(1), Party::Sender)]);
    }

    #[test]
    fn a_log_is_in_the_list_of_each_of_its_topics() {
        let kinds: Vec<ListKind> = lists_of_log(1, 2, [8, 9]).map(|(list, _)| list.kind).collect();
        let expected = [ListKind::EmitterLogs, ListKind::SourceLogs, ListKind::Topic0Logs, ListKind::Topic1Logs];
        assert_eq!(kinds, expected);
    }
}
