//! The addresses of the deployed contracts.

use alloy_primitives::Address;

/// A fungible token and its decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub address: Address,
    pub decimals: u8,
}

/// A pool of two tokens, in the order of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pool {
    pub address: Address,
    pub token0: Token,
    pub token1: Token,
}

/// The deployed contracts.
#[derive(Debug, Clone)]
pub struct DeployedContracts {
    /// All fungible tokens, including the non-standard ones and the wrapped coin.
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
    /// Its decimals() reverts; amounts have 18 decimals anyway.
    pub no_decimals: Token,
    /// Transfers less than its events say.
    pub silent_fee: Token,
    pub collectible: Address,
    pub items: Address,
    pub v2_factory: Address,
    pub v2_router: Address,
    pub v2_pairs: Vec<Pool>,
    pub v3_factory: Address,
    pub v3_pools: Vec<Pool>,
    /// Emits Swap logs but is not a pool.
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
