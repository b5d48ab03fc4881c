//! Sample blocks and logs for tests.

use alloy_primitives::{Address, B256, U256};
use domain::{Block, FetchedBlock, Log, Transaction};

use crate::abi::{Word, address_word};

pub(crate) const SENDER: Address = Address::repeat_byte(1);
pub(crate) const ROUTER: Address = Address::repeat_byte(2);
pub(crate) const TOKEN: Address = Address::repeat_byte(3);
pub(crate) const POOL: Address = Address::repeat_byte(5);

pub(crate) fn uint(number: u64) -> Word {
    U256::from(number).to_be_bytes()
}

pub(crate) fn address_topic(address: Address) -> B256 {
    address_word(address).into()
}

pub(crate) fn log(address: Address, topics: impl IntoIterator<Item = B256>, data: impl IntoIterator<Item = u8>) -> Log {
    let data: Vec<u8> = data.into_iter().collect();
    Log { tx_index: 0, log_index: 0, address, topics: topics.into_iter().collect(), data: data.into() }
}

pub(crate) fn transaction(index: u32, to: Option<Address>, created: Option<Address>) -> Transaction {
    Transaction { block_number: 1, index, from: SENDER, to, created, method: None, ..Transaction::sample() }
}

/// A block with one transaction; logs are numbered in order.
pub(crate) fn fetched(logs: Vec<Log>) -> FetchedBlock {
    let logs = (0..).zip(logs).map(|(log_index, log)| Log { log_index, ..log }).collect();
    let block = Block { number: 1, tx_count: 1, ..Block::sample() };
    FetchedBlock { block, transactions: vec![transaction(0, Some(ROUTER), None)], logs, credits: Vec::new() }
}
