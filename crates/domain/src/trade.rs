use alloy_primitives::{Address, B256, U256};

use crate::{BlockNumber, BlockRange};

crate::all_variants! {
    /// The protocol of a pool.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum PoolStyle {
        /// Constant product (Uniswap v2 and forks).
        V2,
        /// Concentrated liquidity (Uniswap v3, PancakeSwap v3 and forks).
        V3,
    }
}

/// A pool that its factory confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    pub address: Address,
    pub style: PoolStyle,
    pub factory: Address,
    pub token0: Address,
    pub token1: Address,
}

/// A swap, from the logs of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TradeEvent {
    /// Position of the transaction in its block.
    pub tx_index: u32,
    /// Position of the log in its block.
    pub log_index: u32,
    pub pool: Address,
    pub direction: TradeDirection,
    pub amount_in: U256,
    pub amount_out: U256,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TradeDirection {
    /// The maker sold token0.
    ZeroForOne,
    /// The maker sold token1.
    OneForZero,
}

/// A trade with its transaction, pool and tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trade {
    pub event: TradeEvent,
    pub pool: Pool,
    /// The sender of the transaction.
    pub maker: Address,
    pub tx_hash: B256,
    pub block_number: BlockNumber,
    /// Unix seconds.
    pub timestamp: u64,
    pub token_in: TradedToken,
    pub token_out: TradedToken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TradedToken {
    pub address: Address,
    /// None if it was not read from the contract yet.
    pub symbol: Option<String>,
    /// None if it was not read yet, or if the contract has none.
    pub decimals: Option<u8>,
}

/// An exchange: a factory and its pool style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Exchange {
    pub style: PoolStyle,
    pub factory: Address,
}

/// A filter of trades: all conditions that are set must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TradeFilter {
    pub maker: Option<Address>,
    pub pool: Option<Address>,
    /// Any of these, without duplicates.
    pub exchanges: Option<Vec<Exchange>>,
    pub blocks: BlockRange,
}

impl TradeFilter {
    /// The trades of an address: those that it made, or all trades of a pool, which makes none.
    #[must_use]
    pub fn of(address: Address, is_pool: bool) -> Self {
        let (maker, pool) = if is_pool { (None, Some(address)) } else { (Some(address), None) };
        Self { maker, pool, ..Self::default() }
    }
}
