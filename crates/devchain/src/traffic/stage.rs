//! Where everything is once it is deployed.

use alloy_primitives::Address;

/// A fungible token and what it counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub address: Address,
    pub decimals: u8,
}

/// A pool of two tokens, in the pool's own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    pub address: Address,
    pub token0: Token,
    pub token1: Token,
}

/// The contracts on chain.
#[derive(Debug, Clone)]
pub struct Stage {
    /// All fungible tokens, the odd ones and the wrapped coin included.
    pub tokens: Vec<Token>,
    pub wrapped: Token,
    /// 6 decimals.
    pub dollar: Token,
    /// 18 decimals.
    pub orchard: Token,
    /// 18 decimals.
    pub lantern: Token,
    /// Its name and symbol are bytes32.
    pub bytes32: Token,
    /// Its decimals() reverts; it counts in 18 all the same.
    pub no_decimals: Token,
    /// Moves less than its events say.
    pub silent_fee: Token,
    pub collectible: Address,
    pub items: Address,
    pub v2_factory: Address,
    pub v2_router: Address,
    pub v2_pairs: Vec<Pool>,
    pub v3_factory: Address,
    pub v3_pools: Vec<Pool>,
    /// Emits Swap logs and is no pool.
    pub look_alike: Address,
    pub nursery: Address,
    pub failing: Address,
    pub counter: Address,
    pub vault: Address,
}

impl Pool {
    pub(super) fn of(address: Address, a: Token, b: Token) -> Self {
        let (token0, token1) = if a.address < b.address { (a, b) } else { (b, a) };
        Self { address, token0, token1 }
    }
}
