//! Generated traffic on a real chain, checked from outside.

mod exchanges;
mod odd_tokens;
mod persistence;
mod showcase;
mod variety;

use std::sync::LazyLock;

use alloy_primitives::{Address, B256, Log, U256};
use alloy_sol_types::SolCall;

use super::*;
use crate::{Call, DevChainConfig, MinedTransaction};

const END: u64 = 1_750_000_000;
const BLOCK_SECONDS: u64 = 3;

/// A chain with a history.
struct History {
    chain: DevChain,
    traffic: Traffic,
    contracts: DeployedContracts,
    sent: Vec<Sent>,
}

/// A thousand transactions, shared by all read-only tests.
static HISTORY: LazyLock<History> = LazyLock::new(|| History::of(1_000, 7));

impl History {
    fn of(transactions: u64, seed: u64) -> Self {
        let plan = plan(transactions);
        let chain = DevChain::new(DevChainConfig {
            genesis_timestamp: plan.genesis_timestamp(),
            block_seconds: BLOCK_SECONDS,
            accounts: 20,
            ..DevChainConfig::default()
        });
        let mut traffic = Traffic::new(chain.clone(), seed);
        let contracts = traffic.deploy().unwrap().clone();
        let sent = traffic.history(&plan).unwrap();
        Self { chain, traffic, contracts, sent }
    }

    /// Every mined transaction, including the deployment.
    fn mined(&self) -> impl Iterator<Item = MinedTransaction> {
        (1..=self.chain.head().number).flat_map(|number| self.chain.block(number).unwrap().transactions.clone())
    }

    fn logs(&self) -> impl Iterator<Item = Log> {
        self.mined().flat_map(|mined| mined.receipt.logs().to_vec())
    }

    fn read<C: SolCall>(&self, contract: Address, call: &C) -> C::Return {
        read(&self.chain, contract, call)
    }
}

fn plan(transactions: u64) -> HistoryPlan {
    HistoryPlan { transactions, end: END, block_seconds: BLOCK_SECONDS, days: 0 }
}

fn read<C: SolCall>(chain: &DevChain, contract: Address, call: &C) -> C::Return {
    let output = chain.call(&Call::to(contract, call.abi_encode())).unwrap();
    C::abi_decode_returns(&output).unwrap()
}

/// Sends one call as the account with this index and mines it.
fn mine(chain: &DevChain, from: usize, to: Address, value: U256, call: &impl SolCall) -> MinedTransaction {
    let hash: B256 = chain.send(from, to.into(), value, call.abi_encode()).unwrap();
    chain.mine(None);
    chain.receipt(hash).unwrap().transaction().clone()
}
