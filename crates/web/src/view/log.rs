//! Logs, decoded where their event is known.

use alloy_primitives::hex;
use contracts::{KnownInterface, decode::Decoded, standards};
use domain::{B256, IndexedLog, Log, LogEvent};

use super::{AddressLink, BlockLink, DecodedView, Moment, PageNames, TransactionLink};

/// Maximum bytes of data on a page.
const SHOWN_DATA: usize = 4 * 1024;

/// The topics and the data of a log, and what they mean.
pub(crate) struct LogRow {
    /// In the block.
    pub(crate) index: u32,
    pub(crate) address: AddressLink,
    pub(crate) event: Option<DecodedView>,
    pub(crate) topics: Vec<String>,
    pub(crate) data: String,
}

impl LogRow {
    /// `interfaces` are those of the emitter.
    pub(crate) fn new(log: &Log, interfaces: &[KnownInterface], names: &PageNames) -> Self {
        Self {
            index: log.log_index,
            address: names.address(log.address),
            event: decode(interfaces, &log.topics, &log.data, names),
            topics: hex_topics(&log.topics),
            data: hex_data(&log.data),
        }
    }

    /// Data that the index does not store is on the page of the transaction.
    fn of_event(event: &LogEvent, interfaces: &[KnownInterface], names: &PageNames) -> Self {
        Self {
            index: event.log_index,
            address: names.address(event.address),
            event: event.data.as_ref().and_then(|data| decode(interfaces, &event.topics, data, names)),
            topics: hex_topics(&event.topics),
            data: match &event.data {
                Some(data) => hex_data(data),
                None => format!("{} bytes: see the transaction", super::grouped(event.data_size)),
            },
        }
    }
}

/// The decoded log; a guess if the emitter is not verified.
fn decode(interfaces: &[KnownInterface], topics: &[B256], data: &[u8], names: &PageNames) -> Option<DecodedView> {
    let verified = interfaces.iter().find_map(|interface| interface.log(topics, data));
    let guess = || Some((standards().log(topics, data)?, true));
    let (event, is_guess): (Decoded, bool) = verified.map(|event| (event, false)).or_else(guess)?;
    Some(DecodedView::new(&event, is_guess, names))
}

fn hex_topics(topics: &[B256]) -> Vec<String> {
    topics.iter().map(|topic| format!("{topic:#x}")).collect()
}

fn hex_data(data: &[u8]) -> String {
    hex::encode_prefixed(data.get(..SHOWN_DATA).unwrap_or(data))
}

/// A log in a list of several transactions.
pub(crate) struct ListedLog {
    pub(crate) key: String,
    pub(crate) hash: TransactionLink,
    /// To the log on the page of its transaction.
    pub(crate) link: String,
    pub(crate) block: BlockLink,
    pub(crate) time: Moment,
    pub(crate) log: LogRow,
}

impl ListedLog {
    /// `interfaces` are those of the emitter.
    pub(crate) fn new(found: &IndexedLog, interfaces: &[KnownInterface], names: &PageNames) -> Self {
        Self {
            key: format!("{:#x}-{}", found.tx_hash, found.event.log_index),
            hash: TransactionLink::new(found.tx_hash),
            link: format!("/tx/{:#x}?logIndex={}#log", found.tx_hash, found.event.log_index),
            block: BlockLink::new(found.block_number),
            time: Moment::of(found.timestamp),
            log: LogRow::of_event(&found.event, interfaces, names),
        }
    }
}
