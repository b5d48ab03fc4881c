use alloy_primitives::B256;
use domain::{Bytes, LogEvent, MAX_TOPICS};
use store::{StoreError, log_data};

use crate::{
    codec::{RowReader, RowWriter},
    keys::{AddressId, SourceId, TopicId, TxId, trimmed},
};

/// Increased by every change of these rows that other versions cannot read.
pub(super) const LAYOUT: u32 = 0;

/// A log with its emitter and topics as ids. Its block is that of its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogRow {
    pub(crate) tx: TxId,
    pub(crate) log_index: u32,
    /// The emitter and the first topic.
    pub(crate) source: SourceId,
    /// After the first one.
    pub(crate) topics: Vec<TopicId>,
    pub(crate) data: Option<Bytes>,
    pub(crate) data_size: u32,
}

/// The two low bits are the number of topics after the first one.
const TOPIC_BITS: u8 = 0b0011;
const HAS_DATA: u8 = 0b0100;
const WORD: usize = 32;

impl LogRow {
    pub(crate) fn new(event: &LogEvent, tx: TxId, source: SourceId, topics: &[TopicId]) -> Self {
        Self {
            tx,
            log_index: event.log_index,
            source,
            topics: topics.iter().take(MAX_TOPICS - 1).copied().collect(),
            data: event.data.clone(),
            data_size: event.data_size,
        }
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(32 + self.data.as_ref().map_or(0, |data| data.len()));
        let topics = u8::try_from(self.topics.len()).unwrap_or(TOPIC_BITS) & TOPIC_BITS;
        row.byte(topics | if self.data.is_some() { HAS_DATA } else { 0 });
        row.varint(self.tx);
        row.varint(self.log_index);
        row.varint(self.source);
        self.topics.iter().for_each(|topic| row.varint(*topic));
        row.varint(self.data_size);
        if let Some(data) = &self.data {
            row.words(data);
        }
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let head = row.byte()?;
        if head & !(TOPIC_BITS | HAS_DATA) != 0 {
            return Err(StoreError::Corrupt("a log of an unknown form"));
        }
        let (tx, log_index, source) = (row.varint()?, row.varint()?, row.varint()?);
        let topics = (0..head & TOPIC_BITS).map(|_| row.varint()).collect::<Result<_, _>>()?;
        let data_size = row.varint()?;
        let data = (head & HAS_DATA != 0).then(|| read_data(row.rest(), data_size)).transpose()?;
        Ok(Self { tx, log_index, source, topics, data, data_size })
    }
}

fn read_data(packed: &[u8], size: u32) -> Result<Bytes, StoreError> {
    log_data::unpack(packed, size).map(Bytes::from).ok_or(StoreError::Corrupt("the data of a log is not of its size"))
}

/// An emitter with a first topic; None is that of logs without topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct LogSource {
    pub(crate) emitter: AddressId,
    pub(crate) topic: Option<TopicId>,
}

impl LogSource {
    pub(crate) fn to_row(self) -> Vec<u8> {
        let mut row = RowWriter::default();
        row.varint(self.emitter);
        // 0 if absent, else the id plus one.
        row.varint(self.topic.map_or(0, |topic| topic + 1));
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        Ok(Self { emitter: row.varint()?, topic: row.varint::<u64>()?.checked_sub(1) })
    }
}

pub(crate) fn topic_to_row(topic: &B256) -> Vec<u8> {
    trimmed(topic.as_slice()).to_vec()
}

pub(crate) fn topic_from_row(row: &[u8]) -> Result<B256, StoreError> {
    if row.len() > WORD {
        return Err(StoreError::Corrupt("a topic is too long"));
    }
    Ok(B256::left_padding_from(row))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_transfer_takes_few_bytes() {
        let amount = alloy_primitives::U256::from(1_000_000_000_000_000_000_u64).to_be_bytes_vec();
        let row = LogRow {
            tx: 5_000_000,
            log_index: 100,
            source: 300,
            topics: vec![40_000, 3],
            data: Some(amount.into()),
            data_size: 32,
        };
        assert_eq!(row.to_row().len(), 22);
        assert_eq!(LogRow::from_row(&row.to_row()).unwrap(), row);
    }

    #[test]
    fn a_size_without_data_behind_it_is_corrupt() {
        let mut row = LogRow { tx: 0, log_index: 0, source: 0, topics: vec![], data: Some(Bytes::new()), data_size: 0 };
        row.data_size = u32::MAX;
        assert!(matches!(LogRow::from_row(&row.to_row()), Err(StoreError::Corrupt(_))));
    }

    proptest! {
        #[test]
        fn rows_are_read_back(
            tx in 0_u64..1 << 40, log_index: u32, source in 0_u64..1 << 40,
            topics in prop::collection::vec(0_u64..1 << 40, 0..4),
            data in prop::option::of(prop::collection::vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..200)),
        ) {
            let data_size = data.as_ref().map_or(9_000, |data| u32::try_from(data.len()).unwrap());
            let row = LogRow { tx, log_index, source, topics, data: data.map(Bytes::from), data_size };
            prop_assert_eq!(LogRow::from_row(&row.to_row()).unwrap(), row);
        }

        #[test]
        fn topics_are_read_back(topic: [u8; 32], zeros in 0_usize..33) {
            let mut topic = B256::new(topic);
            topic[..zeros].fill(0);
            prop_assert_eq!(topic_from_row(&topic_to_row(&topic)).unwrap(), topic);
        }
    }
}
