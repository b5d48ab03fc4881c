//! Generated traffic: contracts, accounts that use them, and a history.
//!
//! The same chain and the same seed always give the same blocks.

mod amount;
mod artifact;
mod collectibles;
mod compiler_output;
mod context;
mod creations;
mod deploy;
mod deployed;
mod dex;
mod failures;
mod history;
mod intent;
pub mod interfaces;
mod live;
mod mix;
mod native;
mod people;
mod reader;
mod showcase;
mod submit;
#[cfg(test)]
mod tests;
mod tokens;

use alloy_primitives::{Address, B256};
pub use artifact::Contract;
pub use compiler_output::{COMPILER_VERSION, SOURCES, compiler_settings};
use context::ActivityContext;
pub use deployed::{Collection, DeployedContracts, Pool, Token};
pub use history::HistoryPlan;
pub use intent::Outcome;
pub use live::run;
pub use mix::Mix;
use people::People;
use rand::{Rng, SeedableRng, rngs::StdRng};
use reader::Reader;
pub use showcase::{SHOWCASE_BLOCKS, Showcase, ShowcaseContracts};
pub use submit::Sent;

use crate::{CallError, DevChain, SendError};

/// The treasury and two actors.
const MIN_ACCOUNTS: usize = 3;

/// Why traffic could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    #[error("traffic needs {MIN_ACCOUNTS} accounts, the chain has {accounts}")]
    TooFewAccounts { accounts: usize },
    #[error("the contracts are not deployed yet")]
    NotDeployed,
    #[error("transaction {transaction} was not mined, or it did not succeed or fail as intended")]
    UnintendedOutcome { transaction: B256 },
    #[error("transaction {transaction} created no contract")]
    NothingCreated { transaction: B256 },
    #[error("the history would start at {begin}, but the head of the chain is at {head}")]
    NoRoomForHistory { begin: u64, head: u64 },
    #[error("a transaction was rejected")]
    NotSent(#[from] SendError),
    #[error("{function} of {contract} reverted")]
    CallReverted { contract: Address, function: &'static str },
    #[error("a call to {contract} failed")]
    Call {
        contract: Address,
        #[source]
        source: CallError,
    },
    #[error("the output of {function} of {contract} cannot be decoded")]
    Output {
        contract: Address,
        function: &'static str,
        #[source]
        source: alloy_sol_types::Error,
    },
}

/// Generates transactions.
#[derive(Debug)]
pub struct Traffic {
    chain: DevChain,
    people: People,
    rng: StdRng,
    contracts: Option<DeployedContracts>,
    collection: Collection,
    showcase: Option<Showcase>,
    mix: Mix,
}

impl Traffic {
    pub fn new(chain: DevChain, seed: u64) -> Self {
        let accounts: Vec<Address> = chain.accounts().iter().map(|signer| signer.address()).collect();
        let (people, rng) = (People::new(&accounts, seed), StdRng::seed_from_u64(seed));
        let collection = Collection::default();
        Self { people, rng, contracts: None, collection, showcase: None, mix: Mix::default(), chain }
    }

    /// Sets the mix of activities.
    #[must_use]
    pub fn with_mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// Sets the main collection of NFTs.
    #[must_use]
    pub fn with_collection(self, collection: Collection) -> Self {
        Self { collection, ..self }
    }

    /// Deploys all contracts and adds liquidity to the pools, in a few blocks.
    pub fn deploy(&mut self) -> Result<&DeployedContracts, TrafficError> {
        let accounts = self.chain.accounts().len();
        if accounts < MIN_ACCOUNTS {
            return Err(TrafficError::TooFewAccounts { accounts });
        }
        let contracts = deploy::deploy(&self.chain, &self.people, self.collection)?;
        Ok(self.contracts.insert(contracts))
    }

    /// Mines a history and returns the transactions in it.
    ///
    /// The genesis must be early enough: see [`HistoryPlan::genesis_timestamp`].
    pub fn history(&mut self, plan: &HistoryPlan) -> Result<Vec<Sent>, TrafficError> {
        let head = self.chain.head().timestamp;
        if let Some(begin) = plan.timestamps().next()
            && begin <= head
        {
            return Err(TrafficError::NoRoomForHistory { begin, head });
        }
        let wanted = usize::try_from(plan.transactions).unwrap_or(usize::MAX);
        let mut sent = Vec::with_capacity(wanted);
        for (timestamp, blocks_left) in plan.timestamps().zip((1..=plan.blocks()).rev()) {
            let left = wanted.saturating_sub(sent.len());
            // Up to twice the mean of the remaining ones, so that blocks are uneven and the total is right.
            let mean = left.div_ceil(usize::try_from(blocks_left).unwrap_or(usize::MAX));
            let count = if blocks_left == 1 { left } else { self.rng.random_range(0..=2 * mean) };
            sent.extend(self.send(count.min(left))?);
            self.chain.mine(Some(timestamp));
        }
        Ok(sent)
    }

    /// Mines [`SHOWCASE_BLOCKS`] blocks with examples of what an explorer explains; later steps repeat some of them.
    pub fn showcase(&mut self) -> Result<&Showcase, TrafficError> {
        let contracts = self.contracts.as_ref().ok_or(TrafficError::NotDeployed)?;
        let showcase = showcase::mine(&self.chain, &self.people, contracts)?;
        Ok(self.showcase.insert(showcase))
    }

    /// Submits the transactions of the next block.
    pub fn step(&mut self) -> Result<Vec<Sent>, TrafficError> {
        let count = match self.rng.random_bool(0.05) {
            true => 0,
            false => self.rng.random_range(3..=15),
        };
        let mut sent = self.send(count)?;
        if let Some(showcase) = &self.showcase
            && let Some(intent) = showcase.repetition(&self.people, self.chain.head().number)
        {
            sent.push(submit::send(&self.chain, intent, &mut self.rng)?);
        }
        Ok(sent)
    }

    /// Submits at least `count` transactions; an approval and its use are not separated.
    pub fn send(&mut self, count: usize) -> Result<Vec<Sent>, TrafficError> {
        let contracts = self.contracts.as_ref().ok_or(TrafficError::NotDeployed)?;
        let reader = Reader::new(&self.chain);
        let mut context = ActivityContext::new(reader, contracts, &self.people, &mut self.rng);
        let mut sent = Vec::with_capacity(count);
        while sent.len() < count {
            let activity = mix::draw(self.mix, context.rng);
            for intent in activity(&mut context)? {
                sent.push(submit::send(&self.chain, intent, context.rng)?);
            }
        }
        Ok(sent)
    }
}
