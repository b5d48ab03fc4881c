//! Living traffic: contracts, people who use them, and a past.
//!
//! The same chain and the same seed always give the same blocks.

mod amount;
mod artifact;
mod collectibles;
mod creations;
mod deploy;
mod dex;
mod dress;
mod failures;
mod history;
mod intent;
pub mod interfaces;
mod live;
mod mix;
mod native;
mod people;
mod reader;
mod stage;
#[cfg(test)]
mod tests;
mod tokens;
mod turn;

use alloy_primitives::{Address, B256};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{CallError, DevChain, SendError};

pub use artifact::Contract;
pub use dress::Sent;
pub use history::HistoryPlan;
pub use intent::Outcome;
pub use live::run;
pub use mix::Mix;
pub use stage::{Pool, Stage, Token};

use people::People;
use reader::Reader;
use turn::Turn;

/// A treasury, and two who can deal with each other.
const FEWEST_ACCOUNTS: usize = 3;

/// Why there is no traffic.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    #[error("traffic needs {FEWEST_ACCOUNTS} accounts, the chain has {accounts}")]
    TooFewAccounts { accounts: usize },
    #[error("the contracts are not deployed yet")]
    NotDeployed,
    #[error("the deployment's transaction {transaction} failed or was not mined")]
    DeploymentFailed { transaction: B256 },
    #[error("the history would begin at {begin}, but the chain is already at {head}")]
    NoRoomForHistory { begin: u64, head: u64 },
    #[error("a transaction was not taken")]
    NotSent(#[from] SendError),
    #[error("{function} of {contract} reverted")]
    QuestionReverted { contract: Address, function: &'static str },
    #[error("{contract} could not be asked")]
    Question {
        contract: Address,
        #[source]
        source: CallError,
    },
    #[error("{function} of {contract} gave no answer of its type")]
    Answer {
        contract: Address,
        function: &'static str,
        #[source]
        source: alloy_sol_types::Error,
    },
}

/// Makes transactions as people would.
#[derive(Debug)]
pub struct Traffic {
    chain: DevChain,
    people: People,
    rng: StdRng,
    stage: Option<Stage>,
    mix: Mix,
}

impl Traffic {
    pub fn new(chain: DevChain, seed: u64) -> Self {
        let accounts: Vec<Address> = chain.accounts().iter().map(|signer| signer.address()).collect();
        let (people, rng) = (People::new(&accounts, seed), StdRng::seed_from_u64(seed));
        Self { people, rng, stage: None, mix: Mix::default(), chain }
    }

    /// Has people do something else mostly.
    #[must_use]
    pub fn with_mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// Puts all contracts on chain and fills the pools, in a few blocks.
    pub fn deploy(&mut self) -> Result<&Stage, TrafficError> {
        let accounts = self.chain.accounts().len();
        if accounts < FEWEST_ACCOUNTS {
            return Err(TrafficError::TooFewAccounts { accounts });
        }
        let stage = deploy::deploy(&self.chain, &self.people)?;
        Ok(self.stage.insert(stage))
    }

    /// Mines a past, and tells what was sent in it.
    ///
    /// The chain's genesis must leave room: see [`HistoryPlan::genesis_timestamp`].
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
            // Up to twice the mean of what is left: uneven blocks, and none left over at the end.
            let mean = left.div_ceil(usize::try_from(blocks_left).unwrap_or(usize::MAX));
            let count = if blocks_left == 1 { left } else { self.rng.random_range(0..=2 * mean) };
            sent.extend(self.send(count.min(left))?);
            self.chain.mine(Some(timestamp));
        }
        Ok(sent)
    }

    /// Puts the next block's worth of transactions into the pool.
    pub fn step(&mut self) -> Result<Vec<Sent>, TrafficError> {
        let count = match self.rng.random_bool(0.05) {
            true => 0,
            false => self.rng.random_range(3..=15),
        };
        self.send(count)
    }

    /// Puts at least `count` transactions into the pool: an approval and what it is for are not torn apart.
    pub fn send(&mut self, count: usize) -> Result<Vec<Sent>, TrafficError> {
        let stage = self.stage.as_ref().ok_or(TrafficError::NotDeployed)?;
        let reader = Reader::new(&self.chain);
        let mut turn = Turn::new(reader, stage, &self.people, &mut self.rng);
        let mut sent = Vec::with_capacity(count);
        while sent.len() < count {
            let activity = mix::draw(self.mix, turn.rng);
            for intent in activity(&mut turn)? {
                sent.push(dress::send(&self.chain, intent, turn.rng)?);
            }
        }
        Ok(sent)
    }
}
