//! Finds the webhooks that watch the parties of an event. Pure: one lookup per touched address, however many addresses are watched.

use std::collections::HashMap;

use domain::{Address, BlockNumber, EventKind, InternalTransaction, Transaction, Transfer, WebhookId};
use store::{WatchList, Watcher};

/// The watch list, indexed by address.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) version: u64,
    by_address: HashMap<Address, Vec<Watcher>>,
    /// First watched blocks, ascending, each with the newest webhook that watches from that block or earlier.
    watched_from: Vec<(BlockNumber, WebhookId)>,
    /// The first block whose internal transactions are watched.
    internal_from: Option<BlockNumber>,
}

impl Watch {
    pub(crate) fn new(list: WatchList) -> Self {
        let mut by_address: HashMap<Address, Vec<Watcher>> = HashMap::with_capacity(list.watchers.len());
        let mut watched_from = Vec::with_capacity(list.watchers.len());
        let mut internal_from: Option<BlockNumber> = None;
        for watcher in list.watchers {
            by_address.entry(watcher.watched).or_default().push(watcher);
            let first = watcher.after.map_or(0, |after| after.number + 1);
            watched_from.push((first, watcher.webhook));
            if watcher.events.contains(EventKind::Internal) {
                internal_from = Some(internal_from.map_or(first, |earlier| earlier.min(first)));
            }
        }
        watched_from.sort_unstable();
        let mut newest = 0;
        for (_, webhook) in &mut watched_from {
            newest = newest.max(*webhook);
            *webhook = newest;
        }
        watched_from.dedup_by_key(|(_, webhook)| *webhook);
        Self { version: list.version, by_address, watched_from, internal_from }
    }

    /// The first block that any webhook watches; None if there are no webhooks.
    pub(crate) fn first_watched_block(&self) -> Option<BlockNumber> {
        self.watched_from.first().map(|(block, _)| *block)
    }

    /// The first block whose internal transactions any webhook watches; None if none does.
    pub(crate) fn first_internal_block(&self) -> Option<BlockNumber> {
        self.internal_from
    }

    /// The newest webhook that watches this block; 0 if there is none.
    pub(crate) fn newest_watching(&self, block: BlockNumber) -> WebhookId {
        let (watching, _) = self.watched_from.split_at(self.watched_from.partition_point(|(from, _)| *from <= block));
        watching.last().map_or(0, |(_, webhook)| *webhook)
    }

    /// The webhooks that watch the sender or the receiver, each once.
    pub(crate) fn of_transaction(&self, transaction: &Transaction) -> Vec<WebhookId> {
        let parties = [Some(transaction.from), transaction.to];
        self.watching(EventKind::Tx, transaction.block_number, parties.into_iter().flatten())
    }

    /// The webhooks that watch the sender, the receiver or the token, each once.
    pub(crate) fn of_transfer(&self, transfer: &Transfer) -> Vec<WebhookId> {
        let event = &transfer.event;
        self.watching(EventKind::TokenTransfer, transfer.block_number, [event.from, event.to, event.token])
    }

    /// The webhooks that watch the sender or the receiver, each once.
    pub(crate) fn of_internal(&self, transaction: &InternalTransaction) -> Vec<WebhookId> {
        let parties = [Some(transaction.event.from), transaction.event.to];
        self.watching(EventKind::Internal, transaction.block_number, parties.into_iter().flatten())
    }

    fn watching(
        &self,
        kind: EventKind,
        block: BlockNumber,
        touched: impl IntoIterator<Item = Address>,
    ) -> Vec<WebhookId> {
        let mut webhooks = Vec::new();
        let mut seen = Vec::with_capacity(3);
        for address in touched {
            // A webhook watches one address, so skipping repeated addresses avoids duplicates.
            if seen.contains(&address) {
                continue;
            }
            seen.push(address);
            let Some(watchers) = self.by_address.get(&address) else { continue };
            for watcher in watchers {
                let wanted = watcher.events.contains(kind) && watcher.after.is_none_or(|after| after.number < block);
                if wanted {
                    webhooks.push(watcher.webhook);
                }
            }
        }
        webhooks
    }
}

#[cfg(test)]
mod tests {
    use domain::{B256, BlockRef, EventKinds, TransferEvent};

    use super::*;

    const ALICE: Address = Address::repeat_byte(1);
    const BOB: Address = Address::repeat_byte(2);
    const TOKEN: Address = Address::repeat_byte(3);

    fn watcher(webhook: WebhookId, watched: Address, kinds: &[EventKind], after: Option<u64>) -> Watcher {
        let events: EventKinds = kinds.iter().copied().collect();
        Watcher { webhook, watched, events, after: after.map(|number| BlockRef { number, hash: B256::ZERO }) }
    }

    fn watch(watchers: Vec<Watcher>) -> Watch {
        Watch::new(WatchList { version: 1, watchers })
    }

    fn payment(from: Address, to: Option<Address>, block_number: u64) -> Transaction {
        Transaction { from, to, created: Some(TOKEN), block_number, ..Transaction::sample() }
    }

    fn transfer(from: Address, to: Address) -> Transfer {
        let sample = Transfer::sample();
        Transfer { event: TransferEvent { token: TOKEN, from, to, ..sample.event }, block_number: 5, ..sample }
    }

    #[test]
    fn a_transaction_matches_sender_and_receiver_each_once() {
        let watch = watch(vec![watcher(1, ALICE, &[EventKind::Tx], None), watcher(2, BOB, &[EventKind::Tx], None)]);
        assert_eq!(watch.of_transaction(&payment(ALICE, Some(BOB), 5)), [1, 2]);
        assert_eq!(watch.of_transaction(&payment(ALICE, Some(ALICE), 5)), [1]);
        assert_eq!(watch.of_transaction(&payment(TOKEN, None, 5)), [0_u64; 0], "a created contract is not a receiver");
    }

    #[test]
    fn a_transfer_matches_sender_receiver_and_token() {
        let kinds = [EventKind::TokenTransfer];
        let watch = watch(vec![watcher(1, ALICE, &kinds, None), watcher(2, TOKEN, &kinds, None)]);
        assert_eq!(watch.of_transfer(&transfer(BOB, ALICE)), [1, 2]);
        assert_eq!(watch.of_transfer(&transfer(BOB, BOB)), [2]);
        assert_eq!(watch.of_transfer(&transfer(TOKEN, TOKEN)), [2]);
    }

    #[test]
    fn only_subscribed_kinds_and_later_blocks_match() {
        let watch = watch(vec![
            watcher(1, ALICE, &[EventKind::TokenTransfer, EventKind::Removed], None),
            watcher(2, ALICE, &[EventKind::Tx], Some(5)),
        ]);
        assert_eq!(watch.of_transaction(&payment(ALICE, None, 5)), [0_u64; 0]);
        assert_eq!(watch.of_transaction(&payment(ALICE, None, 6)), [2]);
        assert_eq!(watch.of_transfer(&transfer(ALICE, BOB)), [1]);
        assert_eq!(watch.first_watched_block(), Some(0));
        assert_eq!(Watch::default().first_watched_block(), None);
    }

    #[test]
    fn a_block_matches_webhooks_created_before_it() {
        let kinds = [EventKind::Tx];
        let watch = watch(vec![
            watcher(3, ALICE, &kinds, Some(5)),
            watcher(4, BOB, &kinds, Some(9)),
            watcher(7, TOKEN, &kinds, Some(9)),
            watcher(5, ALICE, &kinds, Some(20)),
        ]);
        let newest = [5, 6, 9, 10, 21].map(|block| watch.newest_watching(block));
        assert_eq!(newest, [0, 3, 3, 7, 7]);
        assert_eq!(watch.first_watched_block(), Some(6));
    }
}
