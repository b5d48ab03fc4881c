//! Counts the transactions, transfers and addresses of the chain independently of the explorer.

use std::collections::HashMap;

use alloy_primitives::{Address, Log, U256};
use alloy_sol_types::SolEvent;
use devchain::{
    MinedBlock,
    traffic::interfaces::{Bep20, GameItems},
};

#[derive(Default)]
pub(super) struct Tally {
    by_address: HashMap<Address, u64>,
    /// Cumulative transactions by block.
    up_to: Vec<u64>,
    transfers: u64,
}

impl Tally {
    pub(super) fn add(&mut self, block: &MinedBlock) {
        self.up_to.push(self.transactions() + block.transactions.len() as u64);
        for mined in &block.transactions {
            let (from, to) = (mined.sender(), mined.recipient());
            *self.by_address.entry(from).or_default() += 1;
            if let Some(to) = to.filter(|to| *to != from) {
                *self.by_address.entry(to).or_default() += 1;
            }
            self.transfers += mined.receipt.logs().iter().map(transfers_of).sum::<u64>();
        }
    }

    pub(super) fn transactions(&self) -> u64 {
        self.up_to.last().copied().unwrap_or_default()
    }

    pub(super) fn transfers(&self) -> u64 {
        self.transfers
    }

    pub(super) fn addresses(&self) -> usize {
        self.by_address.len()
    }

    /// The address with the most transactions and their number; the lowest address of several, for determinism.
    pub(super) fn busiest(&self) -> (Address, u64) {
        let busiest = self.by_address.iter().max_by_key(|(address, count)| (**count, std::cmp::Reverse(**address)));
        busiest.map(|(address, count)| (*address, *count)).unwrap_or_default()
    }

    pub(super) fn transactions_up_to(&self, block: u64) -> u64 {
        let index = usize::try_from(block).unwrap_or(usize::MAX);
        self.up_to.get(index).copied().unwrap_or_else(|| self.transactions())
    }

    pub(super) fn block_at(&self, share: f64) -> u64 {
        let wanted = share * self.transactions() as f64;
        self.up_to.partition_point(|&count| (count as f64) < wanted) as u64
    }
}

fn transfers_of(log: &Log) -> u64 {
    match log.topics().first() {
        Some(&Bep20::Transfer::SIGNATURE_HASH | &GameItems::TransferSingle::SIGNATURE_HASH) => 1,
        // The array of ids comes first; its length is the third word.
        Some(&GameItems::TransferBatch::SIGNATURE_HASH) => {
            log.data.data.get(64..96).map_or(0, |word| U256::from_be_slice(word).saturating_to())
        }
        _ => 0,
    }
}
