//! The context of the activities of one block: the state of the chain, minus what transactions of this
//! block have already reserved.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;
use rand::rngs::StdRng;

use super::{
    TrafficError,
    amount::GAS_RESERVE,
    deployed::DeployedContracts,
    intent::{Actor, Intent},
    interfaces::{Bep20, GameItems, Vault},
    people::People,
    reader::Reader,
};

/// What an activity can read and use.
///
/// Nothing is kept between blocks: every activity starts from the state at the head, so that a reorg
/// cannot invalidate it.
#[derive(Debug)]
pub(super) struct ActivityContext<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) contracts: &'a DeployedContracts,
    pub(super) people: &'a People,
    pub(super) rng: &'a mut StdRng,
    reserved: BTreeMap<Reservable, U256>,
    moved: BTreeSet<U256>,
}

/// Something that can be spent only once per block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reservable {
    Coins(Actor),
    Tokens(Address, Actor),
    Allowance(Address, Actor, Address),
    Items(Actor, U256),
    Stored(Actor),
}

impl<'a> ActivityContext<'a> {
    pub(super) fn new(
        reader: Reader<'a>,
        contracts: &'a DeployedContracts,
        people: &'a People,
        rng: &'a mut StdRng,
    ) -> Self {
        Self { reader, contracts, people, rng, reserved: BTreeMap::new(), moved: BTreeSet::new() }
    }

    pub(super) fn actor(&mut self) -> Actor {
        self.people.actor(self.rng)
    }

    pub(super) fn read<C: SolCall>(&self, contract: Address, call: &C) -> Result<C::Return, TrafficError> {
        self.reader.read(contract, call)
    }

    /// A deadline long after the next block, which may be hours away in a history.
    pub(super) fn deadline(&self) -> U256 {
        U256::from(self.reader.timestamp() + 86_400)
    }

    /// Reserves coins of an actor; false if there are not enough.
    pub(super) fn reserve_coins(&mut self, actor: Actor, amount: U256) -> bool {
        let held = self.reader.coins(self.people.address(actor));
        self.reserve(Reservable::Coins(actor), held.saturating_sub(GAS_RESERVE), amount)
    }

    pub(super) fn reserve_tokens(&mut self, token: Address, actor: Actor, amount: U256) -> Result<bool, TrafficError> {
        let holder = self.people.address(actor);
        let held = self.read(token, &Bep20::balanceOfCall { holder })?;
        Ok(self.reserve(Reservable::Tokens(token, actor), held, amount))
    }

    pub(super) fn reserve_allowance(
        &mut self,
        token: Address,
        actor: Actor,
        spender: Address,
        amount: U256,
    ) -> Result<bool, TrafficError> {
        let owner = self.people.address(actor);
        let allowed = self.read(token, &Bep20::allowanceCall { owner, spender })?;
        Ok(self.reserve(Reservable::Allowance(token, actor, spender), allowed, amount))
    }

    pub(super) fn reserve_items(&mut self, actor: Actor, id: U256, amount: U256) -> Result<bool, TrafficError> {
        let holder = self.people.address(actor);
        let call = GameItems::balanceOfCall { holder, id };
        let held = self.read(self.contracts.items, &call)?;
        Ok(self.reserve(Reservable::Items(actor, id), held, amount))
    }

    pub(super) fn reserve_stored(&mut self, actor: Actor, amount: U256) -> Result<bool, TrafficError> {
        let owner = self.people.address(actor);
        let held = self.read(self.contracts.vault, &Vault::storedCall { owner })?;
        Ok(self.reserve(Reservable::Stored(actor), held, amount))
    }

    /// Reserves a collectible: it moves at most once per block.
    pub(super) fn reserve_collectible(&mut self, id: U256) -> bool {
        self.moved.insert(id)
    }

    /// The approval that has to come first, if the allowance is too low.
    pub(super) fn approval_for(
        &mut self,
        token: Address,
        actor: Actor,
        spender: Address,
        amount: U256,
    ) -> Result<Vec<Intent>, TrafficError> {
        if self.reserve_allowance(token, actor, spender, amount)? {
            return Ok(vec![]);
        }
        let value = U256::MAX;
        let approve = Bep20::approveCall { spender, value };
        Ok(vec![Intent::call(actor, token, &approve)])
    }

    fn reserve(&mut self, item: Reservable, held: U256, amount: U256) -> bool {
        let reserved = self.reserved.entry(item).or_default();
        let total = reserved.saturating_add(amount);
        let enough = total <= held;
        if enough {
            *reserved = total;
        }
        enough
    }
}
