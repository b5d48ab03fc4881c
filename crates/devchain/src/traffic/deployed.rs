//! The addresses of the deployed contracts.

use alloy_primitives::{Address, Bytes};

use super::Contract;

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

/// Which contract the main collection of NFTs is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Collection {
    /// Without pictures.
    #[default]
    Plain,
    /// Its pictures are drawn by its contract.
    Pictures,
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
    pub collection: Collection,
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

impl Collection {
    pub(super) fn creation_code(self) -> Bytes {
        match self {
            Self::Plain => Contract::Collectible.creation_with(&("Paper Boats".to_owned(), "BOAT".to_owned())),
            Self::Pictures => Contract::PaperBoats.creation_code(),
        }
    }
}

impl DeployedContracts {
    /// The contracts that honest owners would publish the source of. The first pair stands for all, whose code is the same.
    pub fn published(&self) -> Vec<(Address, Contract)> {
        let collection = match self.collection {
            Collection::Plain => Contract::Collectible,
            Collection::Pictures => Contract::PaperBoats,
        };
        let mut published = vec![
            (self.dollar.address, Contract::PlainToken),
            (self.orchard.address, Contract::PlainToken),
            (self.lantern.address, Contract::PlainToken),
            (self.bytes32.address, Contract::Bytes32Token),
            (self.no_decimals.address, Contract::NoDecimalsToken),
            (self.silent_fee.address, Contract::SilentFeeToken),
            (self.wrapped.address, Contract::WrappedCoin),
            (self.collectible, collection),
            (self.items, Contract::GameItems),
            (self.v2_factory, Contract::V2Factory),
            (self.v2_router, Contract::V2Router),
            (self.v3_factory, Contract::V3Factory),
            (self.nursery, Contract::Nursery),
            (self.failing, Contract::Failing),
            (self.counter, Contract::Counter),
            (self.vault, Contract::Vault),
        ];
        published.extend(self.v2_pairs.first().map(|pair| (pair.address, Contract::V2Pair)));
        published.extend(self.v3_pools.iter().map(|pool| (pool.address, Contract::V3Pool)));
        published
    }
}

impl Pool {
    pub(super) fn of(address: Address, a: Token, b: Token) -> Self {
        let (token0, token1) = if a.address < b.address { (a, b) } else { (b, a) };
        Self { address, token0, token1 }
    }
}
