use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::Uint;
use domain::{
    Address, AddressFacts, B256, BalanceSource, Block, BlockChanges, BlockId, BlockNumber, BlockRange, BlockRef,
    Creation, Exchange, Order, Page, PageRequest, Pool, Stats, Token, TokenFacts, Trade, TradeDirection, TradeFilter,
    TradedToken, Transaction, TransactionFilter, Transfer, TransferFilter, U256,
};

use crate::Undo;

/// The reference: all blocks in a row, and every question answered by looking at each of them.
#[derive(Debug, Default)]
pub struct Model {
    blocks: Vec<BlockChanges>,
    undo: BTreeSet<BlockNumber>,
    facts: BTreeMap<Address, TokenFacts>,
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
        let left: BTreeSet<Address> = self.tokens().into_iter().map(|token| token.address).collect();
        self.facts.retain(|token, _| left.contains(token));
    }

    pub fn keep_token_facts(&mut self, token: Address, facts: TokenFacts) {
        self.facts.insert(token, facts);
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
            total_tokens: self.tokens().len() as u64,
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
                || changes.transfers.iter().any(|event| [event.token, event.from, event.to].contains(&address))
                || self
                    .pools_first_seen_in(changes)
                    .any(|pool| [pool.address, pool.factory, pool.token0, pool.token1].contains(&address))
        };
        let mut seen = self.blocks.iter().filter(takes_part);
        let first = seen.next()?;
        // A token is there by its transfers, and a pool by its trades, but they are not said to take part in them: that
        // is told by who emitted the logs.
        let takes_part_again = |changes: &&BlockChanges| {
            changes.block.miner == address
                || changes.transactions.iter().any(|tx| tx.touches(&address) || tx.created == Some(address))
                || changes.involved.iter().any(|involvement| involvement.address == address)
                || changes.transfers.iter().any(|event| [event.from, event.to].contains(&address))
        };
        let last = self.blocks.iter().rev().find(takes_part_again).unwrap_or(first);
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

impl Model {
    fn pools_first_seen_in<'a>(&'a self, changes: &'a BlockChanges) -> impl Iterator<Item = &'a Pool> {
        let number = changes.block.number;
        let earlier = self.blocks.iter().take_while(move |earlier| earlier.block.number < number);
        let known: BTreeSet<Address> = earlier.flat_map(|earlier| &earlier.pools).map(|pool| pool.address).collect();
        changes.pools.iter().filter(move |pool| !known.contains(&pool.address))
    }

    #[must_use]
    pub fn find_pool(&self, address: Address) -> Option<Pool> {
        self.blocks.iter().flat_map(|changes| &changes.pools).find(|pool| pool.address == address).copied()
    }

    /// Every token, most held first, by following every transfer from the first on.
    #[must_use]
    pub fn tokens(&self) -> Vec<Token> {
        let mut tokens: BTreeMap<Address, (Token, BTreeMap<Address, Uint<320, 5>>)> = BTreeMap::new();
        for event in self.blocks.iter().flat_map(|changes| &changes.transfers) {
            let (token, balances) =
                tokens.entry(event.token).or_insert_with(|| (self.new_token(event), BTreeMap::new()));
            token.transfer_count += 1;
            if event.from == event.to {
                continue;
            }
            let value = Uint::from(event.value);
            if event.from != Address::ZERO {
                let balance = balances.entry(event.from).or_default();
                match balance.checked_sub(value) {
                    Some(less) => *balance = less,
                    None => {
                        *balance = Uint::ZERO;
                        token.balance_source = BalanceSource::Calls;
                    }
                }
            }
            if event.to != Address::ZERO {
                *balances.entry(event.to).or_default() += value;
            }
        }
        let mut tokens: Vec<Token> = tokens
            .into_values()
            .map(|(token, balances)| {
                let holder_count = balances.values().filter(|balance| !balance.is_zero()).count() as u64;
                Token { holder_count, ..token }
            })
            .collect();
        tokens.sort_by_key(|token| (std::cmp::Reverse(token.holder_count), token.address));
        tokens
    }

    fn new_token(&self, event: &domain::TransferEvent) -> Token {
        Token {
            address: event.token,
            kind: event.kind,
            facts: self.facts_of(event.token),
            holder_count: 0,
            transfer_count: 0,
            balance_source: BalanceSource::Events,
        }
    }

    fn facts_of(&self, token: Address) -> TokenFacts {
        self.facts.get(&token).cloned().unwrap_or_default()
    }

    #[must_use]
    pub fn list_tokens(&self, page: PageRequest) -> Page<Token> {
        // Here the order wanted by default begins with the most held.
        let order = match page.order {
            Order::NewestFirst => Order::OldestFirst,
            Order::OldestFirst => Order::NewestFirst,
        };
        cut(self.tokens(), PageRequest { order, ..page })
    }

    #[must_use]
    pub fn list_transfers(&self, filter: &TransferFilter, page: PageRequest) -> Page<Transfer> {
        let all = self.blocks.iter().flat_map(|changes| {
            let wanted = changes.transfers.iter().filter(|event| filter.matches(event, changes.block.number));
            wanted.map(|event| {
                let facts = self.facts_of(event.token);
                Transfer {
                    event: *event,
                    tx_hash: transaction(changes, event.tx_index).hash,
                    block_number: changes.block.number,
                    timestamp: changes.block.timestamp,
                    token_name: facts.name,
                    token_symbol: facts.symbol,
                    token_decimals: facts.decimals,
                }
            })
        });
        cut(all.collect(), page)
    }

    #[must_use]
    pub fn list_trades(&self, filter: &TradeFilter, page: PageRequest) -> Page<Trade> {
        let all = self.blocks.iter().filter(|changes| filter.blocks.contains(changes.block.number));
        let all = all.flat_map(|changes| {
            changes.trades.iter().map(|event| {
                let pool = self.find_pool(event.pool).expect("a trade's pool is known");
                let tx = transaction(changes, event.tx_index);
                let (token_in, token_out) = match event.direction {
                    TradeDirection::ZeroForOne => (pool.token0, pool.token1),
                    TradeDirection::OneForZero => (pool.token1, pool.token0),
                };
                Trade {
                    event: *event,
                    pool,
                    maker: tx.from,
                    tx_hash: tx.hash,
                    block_number: changes.block.number,
                    timestamp: changes.block.timestamp,
                    token_in: self.traded(token_in),
                    token_out: self.traded(token_out),
                }
            })
        });
        let wanted = all.filter(|trade| {
            let exchange = Exchange { style: trade.pool.style, factory: trade.pool.factory };
            filter.maker.is_none_or(|maker| trade.maker == maker)
                && filter.exchange.is_none_or(|wanted| exchange == wanted)
        });
        cut(wanted.collect(), page)
    }

    fn traded(&self, address: Address) -> TradedToken {
        let facts = self.facts_of(address);
        TradedToken { address, symbol: facts.symbol, decimals: facts.decimals }
    }
}

fn transaction(changes: &BlockChanges, index: u32) -> &Transaction {
    changes.transactions.iter().find(|tx| tx.index == index).expect("an event's transaction is in its block")
}

fn cut<T: Clone>(all: Vec<T>, page: PageRequest) -> Page<T> {
    let total = all.len() as u64;
    let items = page.ranks(total).filter_map(|rank| all.get(usize::try_from(rank).ok()?).cloned()).collect();
    Page { items, total }
}
