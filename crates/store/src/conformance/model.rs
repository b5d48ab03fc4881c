use std::collections::BTreeSet;

use domain::{
    Address, AddressFacts, B256, Block, BlockChanges, BlockId, BlockNumber, BlockRange, BlockRef, Creation, Page,
    PageRequest, Stats, Transaction, TransactionFilter, U256,
};

use crate::Undo;

/// The reference: all blocks in a row, and every question answered by looking at each of them.
#[derive(Debug, Default)]
pub struct Model {
    blocks: Vec<BlockChanges>,
    undo: BTreeSet<BlockNumber>,
}

impl Model {
    pub fn commit(&mut self, blocks: Vec<BlockChanges>, undo: Undo) {
        let numbers: Vec<BlockNumber> = blocks.iter().map(|changes| changes.block.number).collect();
        self.blocks.extend(blocks);
        match undo {
            Undo::Keep { down_to } => {
                // A record that was needed a moment ago is dropped; those of this commit are all kept.
                self.undo.retain(|number| *number > down_to);
                self.undo.extend(numbers);
            }
            Undo::Discard => self.undo.clear(),
        }
    }

    pub fn revert_to(&mut self, number: BlockNumber) {
        self.blocks.retain(|changes| changes.block.number <= number);
        self.undo.retain(|above| *above <= number);
    }

    #[must_use]
    pub fn tip(&self) -> Option<BlockRef> {
        self.newest_block().map(|block| block.id())
    }

    #[must_use]
    pub fn newest_block(&self) -> Option<Block> {
        self.blocks.last().map(|changes| changes.block.clone())
    }

    #[must_use]
    pub fn oldest_revertible(&self) -> Option<BlockNumber> {
        let tip = self.tip()?.number;
        Some(self.undo.first().map_or(tip, |oldest| oldest.saturating_sub(1)))
    }

    #[must_use]
    pub fn stats(&self) -> Stats {
        let filled = self.blocks.iter().rev().filter(|changes| !changes.transactions.is_empty()).take(100);
        let prices: Vec<U256> =
            filled.flat_map(|changes| &changes.transactions).map(|tx| U256::from(tx.gas_price)).collect();
        let sum: U256 = prices.iter().sum();
        Stats {
            latest_block: self.tip().map(|tip| tip.number),
            total_transactions: self.transactions().count() as u64,
            total_tokens: 0,
            average_gas_price: sum.checked_div(U256::from(prices.len())).unwrap_or_default(),
        }
    }

    pub fn transactions(&self) -> impl DoubleEndedIterator<Item = &Transaction> {
        self.blocks.iter().flat_map(|changes| &changes.transactions)
    }

    #[must_use]
    pub fn find_block(&self, id: BlockId) -> Option<Block> {
        let is_it = |block: &Block| match id {
            BlockId::Number(number) => block.number == number,
            BlockId::Hash(hash) => block.hash == hash,
        };
        self.blocks.iter().map(|changes| &changes.block).find(|block| is_it(block)).cloned()
    }

    #[must_use]
    pub fn list_blocks(&self, range: BlockRange, page: PageRequest) -> Page<Block> {
        let all = self.blocks.iter().map(|changes| changes.block.clone());
        cut(all.filter(|block| range.contains(block.number)).collect(), page)
    }

    #[must_use]
    pub fn find_transaction(&self, hash: B256) -> Option<Transaction> {
        self.transactions().find(|tx| tx.hash == hash).cloned()
    }

    #[must_use]
    pub fn list_transactions(&self, filter: &TransactionFilter, page: PageRequest) -> Page<Transaction> {
        cut(self.transactions().filter(|tx| filter.matches(tx)).cloned().collect(), page)
    }

    #[must_use]
    pub fn find_address(&self, address: Address) -> Option<AddressFacts> {
        let takes_part = |changes: &&BlockChanges| {
            changes.block.miner == address
                || changes.transactions.iter().any(|tx| tx.touches(&address) || tx.created == Some(address))
                || changes.involved.iter().any(|involvement| involvement.address == address)
        };
        let mut seen = self.blocks.iter().filter(takes_part);
        let first = seen.next()?;
        let last = seen.next_back().unwrap_or(first);
        let creation = self.transactions().rev().find(|tx| tx.created == Some(address));
        Some(AddressFacts {
            address,
            tx_count: self.transactions().filter(|tx| tx.touches(&address)).count() as u64,
            first_seen: first.block.timestamp,
            last_seen: last.block.timestamp,
            creation: creation.map(|tx| Creation { creator: tx.from, tx_hash: tx.hash }),
        })
    }
}

fn cut<T: Clone>(all: Vec<T>, page: PageRequest) -> Page<T> {
    let total = all.len() as u64;
    let items = page.ranks(total).filter_map(|rank| all.get(usize::try_from(rank).ok()?).cloned()).collect();
    Page { items, total }
}
