//! Rows of logs: a pack has consecutive logs of one transaction.

use domain::LogEvent;
use store::words;

/// Bytes of a log in `entries`.
const ENTRY: usize = 26;
const PACKED_LOGS: usize = 128;
/// Where data ends is a number of two bytes. The data of one log takes less than 9,000.
const PACKED_BYTES: usize = 48 * 1024;

/// A row of `log_pack`.
#[derive(Debug)]
pub(super) struct LogPack {
    /// Of the first log.
    pub(super) id: u64,
    pub(super) tx: u64,
    /// Of the first log.
    pub(super) log_index: u32,
    pub(super) entries: Vec<u8>,
    pub(super) data: Vec<u8>,
}

impl LogPack {
    pub(super) fn new(id: u64, tx: u64, log_index: u32) -> Self {
        Self { id, tx, log_index, entries: Vec::new(), data: Vec::new() }
    }

    /// Whether the next log belongs here.
    pub(super) fn takes(&self, tx: u64, log_index: u32) -> bool {
        let logs = self.entries.len() / ENTRY;
        let next_index = u32::try_from(logs).ok().and_then(|logs| self.log_index.checked_add(logs));
        tx == self.tx && next_index == Some(log_index) && logs < PACKED_LOGS && self.data.len() < PACKED_BYTES
    }

    pub(super) fn push(&mut self, source: u64, later_topics: [Option<u64>; 3], event: &LogEvent) {
        self.push_id(Some(source));
        later_topics.into_iter().for_each(|topic| self.push_id(topic));
        if let Some(data) = &event.data {
            words::pack(data, &mut self.data);
        }
        self.entries.extend_from_slice(&event.data_size.to_be_bytes());
        let end = u16::try_from(self.data.len()).unwrap_or(u16::MAX);
        self.entries.extend_from_slice(&end.to_be_bytes());
    }

    fn push_id(&mut self, id: Option<u64>) {
        let [_, _, _, bytes @ ..] = id.unwrap_or(u64::MAX).to_be_bytes();
        self.entries.extend_from_slice(&bytes);
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
        assert_eq!(pack.entries.len() / ENTRY, 6);
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
}
