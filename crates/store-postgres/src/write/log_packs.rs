//! Rows of logs: a pack has consecutive logs of one transaction.

use domain::LogEvent;
use store::log_data;

const PACKED_LOGS: usize = 128;
/// Where data ends is a number of two bytes. The data of one log takes less than 9,000.
const PACKED_BYTES: usize = 48 * 1024;
const WORD: u32 = 32;
/// Instead of the number of words: the size follows, in bytes.
const SIZE_FOLLOWS: u8 = u8::MAX;

/// A row of `log_pack`.
#[derive(Debug)]
pub(super) struct LogPack {
    /// Of the first log.
    pub(super) id: u64,
    pub(super) tx: u64,
    /// Of the first log.
    pub(super) log_index: u32,
    logs: Vec<Entry>,
    pub(super) data: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    /// Of its source and of its topics after the first one.
    ids: [Option<u64>; 4],
    /// Where its data ends.
    end: u16,
}

impl LogPack {
    pub(super) fn new(id: u64, tx: u64, log_index: u32) -> Self {
        Self { id, tx, log_index, logs: Vec::new(), data: Vec::new() }
    }

    /// Whether the next log belongs here.
    pub(super) fn takes(&self, tx: u64, log_index: u32) -> bool {
        let count = self.logs.len();
        let next_index = u32::try_from(count).ok().and_then(|count| self.log_index.checked_add(count));
        tx == self.tx && next_index == Some(log_index) && count < PACKED_LOGS && self.data.len() < PACKED_BYTES
    }

    pub(super) fn push(&mut self, source: u64, [topic1, topic2, topic3]: [Option<u64>; 3], event: &LogEvent) {
        let words = u8::try_from(event.data_size / WORD).ok().filter(|words| *words < SIZE_FOLLOWS);
        match (&event.data, words) {
            (Some(_), Some(words)) if event.data_size.is_multiple_of(WORD) => self.data.push(words),
            _ => {
                self.data.push(SIZE_FOLLOWS);
                self.data.extend_from_slice(&event.data_size.to_be_bytes());
            }
        }
        if let Some(data) = &event.data {
            log_data::pack(data, &mut self.data);
        }
        // Less than 58 KB: fewer than 48 before, and data of at most 8 with a byte for each word.
        let end = u16::try_from(self.data.len()).unwrap_or(u16::MAX);
        self.logs.push(Entry { ids: [Some(source), topic1, topic2, topic3], end });
    }

    /// The column of the same name, as the migration describes it.
    pub(super) fn entries(&self) -> Vec<u8> {
        let ids = || self.logs.iter().flat_map(|entry| entry.ids);
        let topics =
            self.logs.iter().filter_map(|entry| entry.ids.iter().rposition(Option::is_some)).max().unwrap_or(0);
        let largest = ids().flatten().max().unwrap_or(0);
        // The largest number of a width stands for none.
        let width = (1..8).find(|width| largest < (1 << (width * 8)) - 1).unwrap_or(8);
        // The width is at most 8, and topics are at most 3.
        let mut entries = vec![u8::try_from(width | topics << 4).unwrap_or(u8::MAX)];
        for entry in &self.logs {
            for id in entry.ids.iter().take(topics + 1) {
                let bytes = id.unwrap_or(u64::MAX).to_be_bytes();
                entries.extend_from_slice(bytes.get(bytes.len() - width..).unwrap_or(&bytes));
            }
            entries.extend_from_slice(&entry.end.to_be_bytes());
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, Bytes};

    use super::*;

    fn log(log_index: u32, data: Vec<u8>) -> LogEvent {
        let data_size = u32::try_from(data.len()).unwrap();
        let data = Some(Bytes::from(data));
        LogEvent { tx_index: 0, log_index, address: Address::ZERO, topics: Vec::new(), data, data_size }
    }

    #[test]
    fn a_pack_ends_before_its_numbers_overflow() {
        let mut pack = LogPack::new(5, 9, 0);
        for index in (0..).take(20) {
            if pack.takes(9, index) {
                pack.push(1, [None; 3], &log(index, vec![7; 8_192]));
            }
        }
        assert_eq!(pack.logs.len(), 6);
        assert!(pack.data.len() < usize::from(u16::MAX));
    }

    #[test]
    fn a_pack_has_consecutive_logs_of_one_transaction() {
        let mut pack = LogPack::new(5, 9, 30);
        pack.push(1, [None; 3], &log(30, Vec::new()));
        assert!(pack.takes(9, 31) && !pack.takes(9, 32) && !pack.takes(10, 31));
        (31..158).for_each(|index| pack.push(1, [None; 3], &log(index, Vec::new())));
        assert!(!pack.takes(9, 158));
    }

    #[test]
    fn ids_take_as_many_bytes_as_the_largest_one() {
        let entries = |source, topics| {
            let mut pack = LogPack::new(5, 9, 0);
            pack.push(source, topics, &log(0, vec![0; 64]));
            pack.entries()
        };
        assert_eq!(entries(7, [None; 3]), [1, 7, 0, 3]);
        assert_eq!(entries(7, [None, Some(254), None]), [0x21, 7, 255, 254, 0, 3]);
        assert_eq!(entries(7, [None, Some(255), None]), [0x22, 0, 7, 255, 255, 0, 255, 0, 3]);
        assert_eq!(entries(u64::MAX - 1, [None; 3]).len(), 1 + 8 + 2);
    }

    #[test]
    fn a_transfer_takes_few_bytes() {
        let mut pack = LogPack::new(5, 9, 0);
        let amount = alloy_primitives::U256::from(1_000_000_000_000_000_000_u64).to_be_bytes_vec();
        pack.push(300, [Some(40_000), Some(3), None], &log(0, amount));
        assert_eq!((pack.entries().len(), pack.data.len()), (1 + 3 * 2 + 2, 1 + 1 + 8));
    }
}
