use alloy_primitives::{Address, B256, U256};
use domain::{Log, TokenKind, TransferEvent};

use super::{
    events::{APPROVAL, SWAP_V2, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE},
    transfers::Transfers,
};
use crate::abi::{WORD, Word, address_word};

/// Appended to only: the first byte of an input in the corpus selects by position.
const EVENTS: [B256; 5] = [TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH, APPROVAL, SWAP_V2];
/// Behind the first.
const MAX_TOPICS: u8 = 4;
const TOKEN: Address = Address::repeat_byte(3);

/// A log: the first byte selects its event and how many topics follow, the rest is its data. A transfer in it is exactly that of
/// the log that the standard writes for it, and a log of the standard is not overlooked.
pub fn transfer_logs(input: &[u8]) {
    let Some(log) = log_of(input) else { return };
    let Transfers { events, ambiguous } = decode(&log);
    assert!(events.len() <= log.data.len() / WORD + 1, "{} transfers of {} bytes", events.len(), log.data.len());
    for (place, event) in (0..).zip(&events) {
        assert_eq!((event.tx_index, event.log_index, event.batch_index), (log.tx_index, log.log_index, place));
        assert_eq!((event.token, event.token_id.is_none()), (TOKEN, event.kind == TokenKind::Bep20));
    }
    let is_amount = events.first().is_some_and(|event| event.kind == TokenKind::Bep20);
    assert_eq!(ambiguous, if is_amount { vec![0] } else { Vec::new() });
    if log.topics[0] != TRANSFER_BATCH {
        assert_eq!(!events.is_empty(), is_of_standard(&log), "{log:?}");
    }
    let Some(written) = write(&log, &events) else { return };
    assert_eq!(decode(&written), Transfers { events, ambiguous });
    // The arrays of a batch may stand in any order.
    if log.topics[0] != TRANSFER_BATCH {
        assert_eq!(written, log);
    }
}

fn log_of(input: &[u8]) -> Option<Log> {
    let (head, rest) = input.split_first()?;
    let event = EVENTS.get(usize::from(head & 7))?;
    let (topics, data) = rest.split_at_checked(usize::from((head >> 3) % (MAX_TOPICS + 1)) * WORD)?;
    let topics = [*event].into_iter().chain(topics.chunks_exact(WORD).map(B256::from_slice)).collect();
    Some(Log { tx_index: 3, log_index: 7, address: TOKEN, topics, data: data.to_vec().into() })
}

fn decode(log: &Log) -> Transfers {
    let mut transfers = Transfers::default();
    transfers.take(log);
    transfers
}

/// Whether a log has the form of an ERC-20, ERC-721 or ERC-1155 transfer, of one id.
fn is_of_standard(log: &Log) -> bool {
    let are_addresses = |words: &[B256]| words.iter().all(|word| word[..12] == [0; 12]);
    let in_data: Vec<B256> = log.data.chunks_exact(WORD).map(B256::from_slice).collect();
    match (log.topics[0], &log.topics[1..], log.data.len()) {
        (TRANSFER, [], 96) => are_addresses(&in_data[..2]),
        (TRANSFER, [from, to], 32) | (TRANSFER, [from, to, _], 0) => are_addresses(&[*from, *to]),
        (TRANSFER_SINGLE, [operator, from, to], 64) => are_addresses(&[*operator, *from, *to]),
        _ => false,
    }
}

/// The log that the standard writes for these transfers of a log.
fn write(log: &Log, events: &[TransferEvent]) -> Option<Log> {
    let first = events.first()?;
    let (from, to) = (address_word(first.from), address_word(first.to));
    let word = |number: U256| number.to_be_bytes::<WORD>();
    let ids: Vec<Word> = events.iter().map(|event| word(event.token_id.unwrap_or_default())).collect();
    let values: Vec<Word> = events.iter().map(|event| word(event.value)).collect();
    let (topics, data): (Vec<Word>, Vec<Word>) = match (log.topics[0], first.kind) {
        (TRANSFER, TokenKind::Bep721) => (vec![from, to, ids[0]], vec![]),
        (TRANSFER, _) if log.topics.len() == 1 => (vec![], vec![from, to, values[0]]),
        (TRANSFER, _) => (vec![from, to], values),
        (TRANSFER_SINGLE, _) => (vec![log.topics[1].0, from, to], vec![ids[0], values[0]]),
        _ => {
            let length = word(U256::from(events.len()));
            let second = word(U256::from((3 + events.len()) * WORD));
            let head = vec![word(U256::from(2 * WORD)), second, length];
            let arrays = [head, ids, vec![length], values].concat();
            (vec![log.topics[1].0, from, to], arrays)
        }
    };
    let topics = [log.topics[0]].into_iter().chain(topics.into_iter().map(B256::new)).collect();
    Some(Log { topics, data: data.concat().into(), ..log.clone() })
}
