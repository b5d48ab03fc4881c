//! What a dev chain can be told before it starts.

use alloy_primitives::U256;

/// The smallest number of blocks whose state is kept, as of a full node.
pub(crate) const LEAST_HISTORY: usize = 128;

/// Where the base fee starts and how low it may fall.
///
/// Mostly empty blocks would let it die away within minutes; a floor keeps a quiet chain's prices
/// lifelike. A floor of zero is plain EIP-1559.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseFee {
    pub genesis: u64,
    pub floor: u64,
}

/// Everything that decides the content of a dev chain, apart from the calls made on it.
#[derive(Debug, Clone)]
pub struct DevChainConfig {
    pub chain_id: u64,
    /// Decides the signers, the coinbases and the randomness of blocks.
    pub seed: u64,
    pub genesis_timestamp: u64,
    /// Seconds from a block to the next where the caller gives no time.
    pub block_seconds: u64,
    /// The number of funded signers.
    pub accounts: usize,
    pub account_balance: U256,
    pub block_gas_limit: u64,
    pub base_fee: BaseFee,
    /// Blocks whose state is kept and which can be reorganised; never fewer than 128.
    pub history: usize,
}

impl Default for DevChainConfig {
    fn default() -> Self {
        Self {
            chain_id: 31_337,
            seed: 1,
            genesis_timestamp: 1_700_000_000,
            block_seconds: 3,
            accounts: 10,
            account_balance: U256::from(10_000_u64) * U256::from(10).pow(U256::from(18)),
            block_gas_limit: 30_000_000,
            base_fee: BaseFee { genesis: 1_000_000_000, floor: 50_000_000 },
            history: 512,
        }
    }
}
