//! Configuration of a dev chain.

use alloy_primitives::U256;

/// The minimum number of blocks with a state that a reorg may revert, as in a full node.
pub(crate) const MIN_HISTORY: usize = 128;

/// The initial and the minimum base fee.
///
/// With mostly empty blocks the base fee would drop to zero within minutes; the floor keeps prices
/// realistic. A floor of zero is plain EIP-1559.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseFee {
    pub genesis: u64,
    pub floor: u64,
}

/// The parameters of a dev chain. With the same calls they give the same blocks.
#[derive(Debug, Clone)]
pub struct DevChainConfig {
    pub chain_id: u64,
    /// Determines the signers, the coinbases and the randomness of blocks.
    pub seed: u64,
    pub genesis_timestamp: u64,
    /// Default seconds between blocks.
    pub block_seconds: u64,
    /// The number of funded signers.
    pub accounts: usize,
    pub account_balance: U256,
    pub block_gas_limit: u64,
    pub base_fee: BaseFee,
    /// Blocks whose state is kept and which can be reverted by a reorg; at least 128. Older ones are in a temporary file.
    pub history: usize,
    /// Approximate memory of these blocks and of what they changed in the state. If they need more, fewer are kept, but at
    /// least 128.
    pub history_bytes: usize,
    /// Whether JSON-RPC has the methods `debug_trace*` and `trace_*`, which many nodes do not offer.
    pub traces: bool,
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
            history_bytes: 256 << 20,
            traces: true,
        }
    }
}
