//! Decodes token transfers. Malformed logs are ignored.

use alloy_primitives::{Address, B256, U256};
use domain::{Log, TokenKind, TransferEvent};

use super::events::{TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE};
use crate::abi::{WORD, address, number, position, word_at, words};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Transfers {
    /// In log order.
    pub(crate) events: Vec<TransferEvent>,
    /// Indexes in `events` of transfers whose last field is not indexed: a BEP20 amount, or an NFT of the BEP721 draft. They
    /// are decoded as amounts until the contract is queried.
    pub(crate) ambiguous: Vec<usize>,
}

impl Transfers {
    pub(super) fn take(&mut self, log: &Log) {
        match log.topics.as_slice() {
            [TRANSFER, from, to] => self.take_ambiguous(amount(log, from, to)),
            [TRANSFER, from, to, id] => self.events.extend(nft(log, from, to, id)),
            [TRANSFER] => self.take_ambiguous(unindexed(log)),
            [TRANSFER_SINGLE, operator, from, to] => self.events.extend(single(log, operator, from, to)),
            [TRANSFER_BATCH, operator, from, to] => {
                self.events.extend(batch(log, operator, from, to).into_iter().flatten());
            }
            _ => {}
        }
    }

    fn take_ambiguous(&mut self, event: Option<TransferEvent>) {
        if let Some(event) = event {
            self.ambiguous.push(self.events.len());
            self.events.push(event);
        }
    }
}

fn event(log: &Log, kind: TokenKind, from: Address, to: Address, value: U256) -> TransferEvent {
    TransferEvent {
        tx_index: log.tx_index,
        log_index: log.log_index,
        batch_index: 0,
        token: log.address,
        kind,
        from,
        to,
        value,
        token_id: None,
    }
}

fn amount(log: &Log, from: &B256, to: &B256) -> Option<TransferEvent> {
    let [value] = words(&log.data)?;
    Some(event(log, TokenKind::Bep20, address(from)?, address(to)?, number(&value)))
}

fn nft(log: &Log, from: &B256, to: &B256, id: &B256) -> Option<TransferEvent> {
    let [] = words(&log.data)?;
    let event = event(log, TokenKind::Bep721, address(from)?, address(to)?, U256::ONE);
    Some(TransferEvent { token_id: Some(number(id)), ..event })
}

fn unindexed(log: &Log) -> Option<TransferEvent> {
    let [from, to, value] = words(&log.data)?;
    Some(event(log, TokenKind::Bep20, address(&from)?, address(&to)?, number(&value)))
}

fn single(log: &Log, operator: &B256, from: &B256, to: &B256) -> Option<TransferEvent> {
    let [id, value] = words(&log.data)?;
    address(operator)?;
    let event = event(log, TokenKind::Bep1155, address(from)?, address(to)?, number(&value));
    Some(TransferEvent { token_id: Some(number(&id)), ..event })
}

fn batch(log: &Log, operator: &B256, from: &B256, to: &B256) -> Option<Vec<TransferEvent>> {
    address(operator)?;
    let (from, to) = (address(from)?, address(to)?);
    let ids = array(&log.data, position(&word_at(&log.data, 0)?)?)?;
    let values = array(&log.data, position(&word_at(&log.data, WORD)?)?)?;
    let all_read = ids.end.max(values.end) == log.data.len();
    if ids.items.len() != values.items.len() || !all_read {
        return None;
    }
    let pair = |(batch_index, (id, value))| TransferEvent {
        batch_index,
        token_id: Some(U256::from_be_slice(id)),
        ..event(log, TokenKind::Bep1155, from, to, U256::from_be_slice(value))
    };
    Some((0..).zip(ids.items.chunks_exact(WORD).zip(values.items.chunks_exact(WORD))).map(pair).collect())
}

struct Array<'a> {
    items: &'a [u8],
    /// Its end in the data.
    end: usize,
}

/// An ABI array of words, which must be inside the data.
fn array(data: &[u8], offset: usize) -> Option<Array<'_>> {
    let length = position(&word_at(data, offset)?)?;
    let start = offset.checked_add(WORD)?;
    let end = start.checked_add(length.checked_mul(WORD)?)?;
    Some(Array { items: data.get(start..end)?, end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::samples::{TOKEN, address_topic, log, uint};

    const ALICE: Address = Address::repeat_byte(0xa1);
    const BOB: Address = Address::repeat_byte(0xb0);

    fn decode(log: &Log) -> Transfers {
        let mut transfers = Transfers::default();
        transfers.take(log);
        transfers
    }

    fn transfer(more_topics: &[B256], data: &[u8]) -> Log {
        log(TOKEN, [TRANSFER].into_iter().chain(more_topics.iter().copied()), data.iter().copied())
    }

    fn multi(kind: B256, data: impl IntoIterator<Item = u8>) -> Log {
        log(TOKEN, [kind, address_topic(TOKEN), address_topic(ALICE), address_topic(BOB)], data)
    }

    fn parties() -> [B256; 2] {
        [address_topic(ALICE), address_topic(BOB)]
    }

    fn event_of(kind: TokenKind, value: u64, token_id: Option<u64>) -> TransferEvent {
        let event = event(&transfer(&[], &[]), kind, ALICE, BOB, U256::from(value));
        TransferEvent { token_id: token_id.map(U256::from), ..event }
    }

    fn concat(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| uint(*word)).collect()
    }

    #[test]
    fn three_topics_are_an_ambiguous_amount_and_four_an_nft() {
        let amount = decode(&transfer(&parties(), &uint(5)));
        assert_eq!(amount.events, [event_of(TokenKind::Bep20, 5, None)]);
        let nft = decode(&transfer(&[parties()[0], parties()[1], uint(9).into()], &[]));
        assert_eq!(nft.events, [event_of(TokenKind::Bep721, 1, Some(9))]);
        assert_eq!((amount.ambiguous.as_slice(), nft.ambiguous.as_slice()), (&[0][..], &[][..]));
    }

    #[test]
    fn a_transfer_without_indexed_fields_is_ambiguous() {
        let data = [parties()[0].0, parties()[1].0, uint(5)].concat();
        let old = decode(&transfer(&[], &data));
        assert_eq!(old, Transfers { events: vec![event_of(TokenKind::Bep20, 5, None)], ambiguous: vec![0] });
        let mut dirty = data;
        dirty[3] = 1;
        assert_eq!(decode(&transfer(&[], &dirty)), Transfers::default());
    }

    #[test]
    fn amounts_range_from_zero_to_the_maximum() {
        let most = decode(&transfer(&parties(), &[0xff; 32]));
        assert_eq!(most.events[0].value, U256::MAX);
        let mint = decode(&transfer(&[B256::ZERO, B256::ZERO], &[0; 32]));
        assert_eq!((mint.events[0].from, mint.events[0].value), (Address::ZERO, U256::ZERO));
    }

    #[test]
    fn malformed_logs_are_no_transfer() {
        let [from, to] = parties();
        for (topics, length) in [
            (vec![from, to], 0),
            (vec![from, to], 31),
            (vec![from, to], 33),
            (vec![from, to], 64),
            (vec![from, to, from], 32),
            (vec![from], 64),
            (vec![], 0),
            (vec![], 95),
            (vec![], 128),
        ] {
            assert_eq!(decode(&transfer(&topics, &vec![0; length])), Transfers::default(), "{topics:?} {length}");
        }
        let dirty = B256::repeat_byte(1);
        assert_eq!(decode(&transfer(&[dirty, to], &uint(5))), Transfers::default());
        assert_eq!(decode(&transfer(&[from, dirty], &uint(5))), Transfers::default());
    }

    #[test]
    fn a_single_transfer_has_an_id_and_an_amount() {
        let single = decode(&multi(TRANSFER_SINGLE, concat(&[7, 100])));
        assert_eq!(single.events, [event_of(TokenKind::Bep1155, 100, Some(7))]);
        assert!(decode(&multi(TRANSFER_SINGLE, concat(&[7]))).events.is_empty());
        assert!(decode(&multi(TRANSFER_SINGLE, concat(&[7, 100, 0]))).events.is_empty());
    }

    #[test]
    fn a_batch_is_one_transfer_per_id() {
        let batch = decode(&multi(TRANSFER_BATCH, concat(&[64, 160, 2, 7, 8, 2, 100, 200])));
        let first = event_of(TokenKind::Bep1155, 100, Some(7));
        let second = TransferEvent { batch_index: 1, ..event_of(TokenKind::Bep1155, 200, Some(8)) };
        assert_eq!(batch.events, [first, second]);
        assert!(decode(&multi(TRANSFER_BATCH, concat(&[64, 96, 0, 0]))).events.is_empty());
    }

    #[test]
    fn arrays_may_be_in_any_order_or_shared() {
        let turned = decode(&multi(TRANSFER_BATCH, concat(&[128, 64, 1, 100, 1, 7])));
        assert_eq!(turned.events, [event_of(TokenKind::Bep1155, 100, Some(7))]);
        let shared = decode(&multi(TRANSFER_BATCH, concat(&[64, 64, 1, 7])));
        assert_eq!(shared.events, [event_of(TokenKind::Bep1155, 7, Some(7))]);
    }

    #[test]
    fn a_batch_with_invalid_arrays_is_no_transfer() {
        for invalid in [
            &[64, 160, 2, 7, 8, 1, 100][..],
            &[64, 160, 2, 7, 8, 2, 100],
            &[64, 160, 2, 7, 8, 2, 100, 200, 0],
            &[64, 4096, 1, 7, 1, 100],
            &[64, 128, u64::MAX, 7, 1, 100],
            &[u64::MAX, 64, 1, 7],
            &[64],
            &[],
        ] {
            assert!(decode(&multi(TRANSFER_BATCH, concat(invalid))).events.is_empty(), "{invalid:?}");
        }
        let endless = [[0xff; 32], [0xff; 32]].concat();
        assert!(decode(&multi(TRANSFER_BATCH, endless)).events.is_empty());
    }
}
