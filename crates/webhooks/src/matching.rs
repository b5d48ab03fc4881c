//! Who wants to know of what a block holds. Pure: a look-up for each address that was touched, however many are watched.

use std::collections::HashMap;

use domain::{Address, BlockNumber, EventKind, Transaction, Transfer, WebhookId};
use store::{WatchList, Watcher};

/// Who watches which address, made for looking up.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) version: u64,
    by_address: HashMap<Address, Vec<Watcher>>,
    /// First blocks of interest, ascending, each with the newest webhook that is interested by then.
    interested_from: Vec<(BlockNumber, WebhookId)>,
}

impl Watch {
    pub(crate) fn new(list: WatchList) -> Self {
        let mut by_address: HashMap<Address, Vec<Watcher>> = HashMap::with_capacity(list.watchers.len());
        let mut interested_from = Vec::with_capacity(list.watchers.len());
        for watcher in list.watchers {
            by_address.entry(watcher.watched).or_default().push(watcher);
            interested_from.push((watcher.after.map_or(0, |after| after.number + 1), watcher.webhook));
        }
        interested_from.sort_unstable();
        let mut newest = 0;
        for (_, webhook) in &mut interested_from {
            newest = newest.max(*webhook);
            *webhook = newest;
        }
        interested_from.dedup_by_key(|(_, webhook)| *webhook);
        Self { version: list.version, by_address, interested_from }
    }

    /// The first block that anybody wants to know of; None where nobody watches.
    pub(crate) fn first_wanted(&self) -> Option<BlockNumber> {
        self.interested_from.first().map(|(block, _)| *block)
    }

    /// The newest webhook to which a block is news; 0 where there is none.
    pub(crate) fn newest_told_of(&self, block: BlockNumber) -> WebhookId {
        let interested = self.interested_from.partition_point(|(from, _)| *from <= block);
        interested.checked_sub(1).map_or(0, |place| self.interested_from[place].1)
    }

    /// Whom a transaction concerns, each once.
    pub(crate) fn of_transaction(&self, transaction: &Transaction) -> Vec<WebhookId> {
        let parties = [Some(transaction.from), transaction.to];
        self.concerned(EventKind::Tx, transaction.block_number, parties.into_iter().flatten())
    }

    /// Whom a transfer concerns, each once.
    pub(crate) fn of_transfer(&self, transfer: &Transfer) -> Vec<WebhookId> {
        let event = &transfer.event;
        self.concerned(EventKind::TokenTransfer, transfer.block_number, [event.from, event.to, event.token])
    }

    fn concerned(
        &self,
        kind: EventKind,
        block: BlockNumber,
        touched: impl IntoIterator<Item = Address>,
    ) -> Vec<WebhookId> {
        let mut concerned = Vec::new();
        let mut seen = Vec::with_capacity(3);
        for address in touched {
            // A webhook watches one address, so it can be found twice only where an address is.
            if seen.contains(&address) {
                continue;
            }
            seen.push(address);
            let Some(watchers) = self.by_address.get(&address) else { continue };
            for watcher in watchers {
                let wanted = watcher.events.contains(kind) && watcher.after.is_none_or(|after| after.number < block);
                if wanted {
                    concerned.push(watcher.webhook);
                }
            }
        }
        concerned
    }
}

#[cfg(test)]
mod tests {
    use domain::{B256, BlockRef, EventKinds, TokenKind, TransferEvent, U256};

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
        Transaction {
            hash: B256::ZERO,
            block_number,
            block_hash: B256::ZERO,
            index: 0,
            timestamp: 0,
            from,
            to,
            created: Some(TOKEN),
            value: U256::ZERO,
            nonce: 0,
            gas_used: 0,
            gas_price: 0,
            succeeded: true,
            method: None,
        }
    }

    fn transfer(from: Address, to: Address) -> Transfer {
        Transfer {
            event: TransferEvent {
                tx_index: 0,
                log_index: 0,
                batch_index: 0,
                token: TOKEN,
                kind: TokenKind::Bep20,
                from,
                to,
                value: U256::ZERO,
                token_id: None,
            },
            tx_hash: B256::ZERO,
            block_number: 5,
            timestamp: 0,
            token_name: String::new(),
            token_symbol: String::new(),
            token_decimals: 0,
        }
    }

    #[test]
    fn a_transaction_concerns_sender_and_receiver_and_each_once() {
        let watch = watch(vec![watcher(1, ALICE, &[EventKind::Tx], None), watcher(2, BOB, &[EventKind::Tx], None)]);
        assert_eq!(watch.of_transaction(&payment(ALICE, Some(BOB), 5)), [1, 2]);
        assert_eq!(watch.of_transaction(&payment(ALICE, Some(ALICE), 5)), [1]);
        assert_eq!(watch.of_transaction(&payment(TOKEN, None, 5)), [0_u64; 0], "a created contract is no receiver");
    }

    #[test]
    fn a_transfer_concerns_giver_receiver_and_token() {
        let kinds = [EventKind::TokenTransfer];
        let watch = watch(vec![watcher(1, ALICE, &kinds, None), watcher(2, TOKEN, &kinds, None)]);
        assert_eq!(watch.of_transfer(&transfer(BOB, ALICE)), [1, 2]);
        assert_eq!(watch.of_transfer(&transfer(BOB, BOB)), [2]);
        assert_eq!(watch.of_transfer(&transfer(TOKEN, TOKEN)), [2]);
    }

    #[test]
    fn only_the_kinds_and_the_blocks_that_were_asked_for_concern_anybody() {
        let watch = watch(vec![
            watcher(1, ALICE, &[EventKind::TokenTransfer, EventKind::Removed], None),
            watcher(2, ALICE, &[EventKind::Tx], Some(5)),
        ]);
        assert_eq!(watch.of_transaction(&payment(ALICE, None, 5)), [0_u64; 0]);
        assert_eq!(watch.of_transaction(&payment(ALICE, None, 6)), [2]);
        assert_eq!(watch.of_transfer(&transfer(ALICE, BOB)), [1]);
        assert_eq!(watch.first_wanted(), Some(0));
        assert_eq!(Watch::default().first_wanted(), None);
    }

    #[test]
    fn a_block_is_news_to_those_made_before_it() {
        let kinds = [EventKind::Tx];
        let watch = watch(vec![
            watcher(3, ALICE, &kinds, Some(5)),
            watcher(4, BOB, &kinds, Some(9)),
            watcher(7, TOKEN, &kinds, Some(9)),
            watcher(5, ALICE, &kinds, Some(20)),
        ]);
        let newest = [5, 6, 9, 10, 21].map(|block| watch.newest_told_of(block));
        assert_eq!(newest, [0, 3, 3, 7, 7]);
        assert_eq!(watch.first_wanted(), Some(6));
    }
}
