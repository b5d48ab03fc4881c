use alloy_primitives::{Address, B256, Bytes, address};

use crate::{Block, BlockNumber, BlockRange, CreditEvent, Page, Transaction};

/// Topics that a log can have.
pub const MAX_TOPICS: usize = 4;

/// The emitter of the logs of EIP-7708: transfers of the chain's coin, which the protocol itself emits. No contract is there, so its logs
/// are never those of a token.
pub const SYSTEM_ADDRESS: Address = address!("fffffffffffffffffffffffffffffffffffffffe");

/// An event that a contract emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// Position of the log in its block.
    pub log_index: u32,
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
}

/// A log as the index keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// Position of the log in its block.
    pub log_index: u32,
    /// The contract that emitted it.
    pub address: Address,
    /// At most [`MAX_TOPICS`].
    pub topics: Vec<B256>,
    /// None if it has more than [`LogEvent::MAX_DATA`] bytes.
    pub data: Option<Bytes>,
    /// Bytes of the data, also if it is not kept.
    pub data_size: u32,
}

impl LogEvent {
    /// Longer data is not kept: a page of logs must fit in memory, whatever contracts emit.
    pub const MAX_DATA: usize = 8 * 1024;

    /// Approximate memory in bytes, for budgets.
    #[must_use]
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.topics.len() * size_of::<B256>() + self.data.as_ref().map_or(0, |data| data.len())
    }
}

impl From<Log> for LogEvent {
    fn from(log: Log) -> Self {
        let Log { tx_index, log_index, address, mut topics, data } = log;
        topics.truncate(MAX_TOPICS);
        let data_size = u32::try_from(data.len()).unwrap_or(u32::MAX);
        Self { tx_index, log_index, address, topics, data: (data.len() <= Self::MAX_DATA).then_some(data), data_size }
    }
}

/// A log with its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedLog {
    pub event: LogEvent,
    pub tx_hash: B256,
    pub block_number: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
}

/// Logs, and the first block from which the list is complete; None for an empty index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    pub page: Page<IndexedLog>,
    pub complete_from: Option<BlockNumber>,
}

impl LogPage {
    #[must_use]
    pub fn empty(complete_from: Option<BlockNumber>) -> Self {
        Self { page: Page::empty(0), complete_from }
    }
}

/// A filter of logs: all conditions that are set must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogFilter {
    /// The contract that emitted them.
    pub address: Option<Address>,
    /// By position.
    pub topics: [Option<B256>; MAX_TOPICS],
    pub blocks: BlockRange,
}

impl LogFilter {
    /// The logs that a contract emitted.
    #[must_use]
    pub fn of(address: Address) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// The reference semantics of the filter; stores use an index.
    #[must_use]
    pub fn matches(&self, event: &LogEvent, block: BlockNumber) -> bool {
        let has = |(position, topic): (usize, &Option<B256>)| {
            topic.is_none_or(|topic| event.topics.get(position) == Some(&topic))
        };
        self.address.is_none_or(|address| event.address == address)
            && self.topics.iter().enumerate().all(has)
            && self.blocks.contains(block)
    }
}

/// A block from a node: header, transactions with their receipts, and logs in chain order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedBlock {
    pub block: Block,
    pub transactions: Vec<Transaction>,
    pub logs: Vec<Log>,
    /// What the protocol paid.
    pub credits: Vec<CreditEvent>,
}

impl FetchedBlock {
    /// Approximate memory of this block in bytes, for budgets.
    #[must_use]
    pub fn weight(&self) -> usize {
        let logs: usize = self.logs.iter().map(|log| size_of::<Log>() + log.topics.len() * 32 + log.data.len()).sum();
        let inputs: usize = self.transactions.iter().filter_map(|tx| tx.input.as_ref()).map(|input| input.len()).sum();
        size_of::<Block>() + self.transactions.len() * size_of::<Transaction>() + inputs + logs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_data_is_not_kept_but_its_size_is() {
        let log = |bytes: usize| Log {
            tx_index: 0,
            log_index: 0,
            address: Address::ZERO,
            topics: vec![B256::ZERO; 6],
            data: vec![7; bytes].into(),
        };
        let kept = LogEvent::from(log(LogEvent::MAX_DATA));
        assert_eq!((kept.data.unwrap().len(), kept.topics.len()), (LogEvent::MAX_DATA, MAX_TOPICS));
        let long = LogEvent::from(log(LogEvent::MAX_DATA + 1));
        assert_eq!((long.data, long.data_size as usize), (None, LogEvent::MAX_DATA + 1));
    }
}
