use alloy_primitives::hex;
use domain::{IndexedLog, LogPage};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Hash, Timestamp, list::list};
use crate::params::Paging;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventLog {
    pub tx_hash: Hash,
    /// In the block, from 0.
    pub log_index: u32,
    pub block_number: u64,
    pub timestamp: Timestamp,
    /// The contract that emitted it.
    pub address: Address,
    /// At most four.
    pub topics: Vec<Hash>,
    /// Null if it has more than 8,192 bytes: then only the node has it, as a log of the transaction.
    #[schema(required = true, pattern = "^0x([0-9a-f]{2})*$")]
    pub data: Option<String>,
    /// In bytes.
    pub data_size: u32,
}

impl From<IndexedLog> for EventLog {
    fn from(found: IndexedLog) -> Self {
        let event = found.event;
        Self {
            tx_hash: found.tx_hash.into(),
            log_index: event.log_index,
            block_number: found.block_number,
            timestamp: Timestamp::from_unix_seconds(found.timestamp),
            address: event.address.into(),
            topics: event.topics.into_iter().map(Hash::from).collect(),
            data: event.data.map(hex::encode_prefixed),
            data_size: event.data_size,
        }
    }
}

list! {
    pub struct LogList with coverage {
        logs: EventLog,
        total,
        /// The first indexed block, or null for an empty index.
        #[schema(required = true)]
        complete_from: Option<u64>,
    }
}

impl LogList {
    #[must_use]
    pub fn new(found: LogPage, paging: Paging, coverage: domain::Coverage) -> Self {
        let LogPage { page, complete_from } = found;
        Self::of(page.map(EventLog::from), paging, complete_from, coverage)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, LogEvent, Page};

    use super::*;

    #[test]
    fn a_page_of_logs_has_the_documented_names_and_types() {
        let log = IndexedLog {
            event: LogEvent {
                tx_index: 2,
                log_index: 7,
                address: Address::repeat_byte(0xaa),
                topics: vec![B256::repeat_byte(0xbb), B256::with_last_byte(1)],
                data: Some(vec![0, 1, 0xff].into()),
                data_size: 3,
            },
            tx_hash: B256::repeat_byte(0xcc),
            block_number: 17,
            timestamp: 1_794_700_800,
        };
        let mut long = log.clone();
        (long.event.data, long.event.data_size) = (None, 8_193);
        let page = Page { items: vec![long, log], total: 2 };
        insta::assert_json_snapshot!(LogList::new(
            LogPage { page, complete_from: Some(3) },
            Paging::default(),
            domain::Coverage { first_block: Some(0) }
        ));
    }
}
