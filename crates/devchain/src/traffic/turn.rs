//! One block's worth of decisions: what the chain holds now, less what this block already gives away.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;
use rand::rngs::StdRng;

use super::{
    TrafficError,
    amount::GAS_RESERVE,
    intent::{Actor, Intent},
    interfaces::{Bep20, GameItems, Vault},
    people::People,
    reader::Reader,
    stage::Stage,
};

/// What an activity may look at and draw from.
///
/// Nothing is remembered from block to block: every decision starts from what the chain holds at
/// its head, so a reorganisation cannot leave plans behind that no longer fit.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) reader: Reader<'a>,
    pub(super) stage: &'a Stage,
    pub(super) people: &'a People,
    pub(super) rng: &'a mut StdRng,
    promised: BTreeMap<Promise, U256>,
    moved: BTreeSet<U256>,
}

/// Something that can be given away once only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Promise {
    Coins(Actor),
    Tokens(Address, Actor),
    Allowance(Address, Actor, Address),
    Items(Actor, U256),
    Stored(Actor),
}

impl<'a> Turn<'a> {
    pub(super) fn new(reader: Reader<'a>, stage: &'a Stage, people: &'a People, rng: &'a mut StdRng) -> Self {
        Self { reader, stage, people, rng, promised: BTreeMap::new(), moved: BTreeSet::new() }
    }

    pub(super) fn actor(&mut self) -> Actor {
        self.people.actor(self.rng)
    }

    pub(super) fn read<C: SolCall>(&self, contract: Address, call: &C) -> Result<C::Return, TrafficError> {
        self.reader.read(contract, call)
    }

    /// A time by which a call of this block will long be mined.
    pub(super) fn deadline(&self) -> U256 {
        U256::from(self.reader.timestamp() + 1_200)
    }

    /// Takes coins from what an actor can give; false when there is not enough left.
    pub(super) fn take_coins(&mut self, actor: Actor, amount: U256) -> bool {
        let held = self.reader.coins(self.people.address(actor));
        // What stays behind pays for gas of many blocks.
        self.take(Promise::Coins(actor), held.saturating_sub(GAS_RESERVE), amount)
    }

    pub(super) fn take_tokens(&mut self, token: Address, actor: Actor, amount: U256) -> Result<bool, TrafficError> {
        let holder = self.people.address(actor);
        let held = self.read(token, &Bep20::balanceOfCall { holder })?;
        Ok(self.take(Promise::Tokens(token, actor), held, amount))
    }

    pub(super) fn take_allowance(
        &mut self,
        token: Address,
        actor: Actor,
        spender: Address,
        amount: U256,
    ) -> Result<bool, TrafficError> {
        let owner = self.people.address(actor);
        let allowed = self.read(token, &Bep20::allowanceCall { owner, spender })?;
        Ok(self.take(Promise::Allowance(token, actor, spender), allowed, amount))
    }

    pub(super) fn take_items(&mut self, actor: Actor, id: U256, amount: U256) -> Result<bool, TrafficError> {
        let holder = self.people.address(actor);
        let call = GameItems::balanceOfCall { holder, id };
        let held = self.read(self.stage.items, &call)?;
        Ok(self.take(Promise::Items(actor, id), held, amount))
    }

    pub(super) fn take_stored(&mut self, actor: Actor, amount: U256) -> Result<bool, TrafficError> {
        let owner = self.people.address(actor);
        let held = self.read(self.stage.vault, &Vault::storedCall { owner })?;
        Ok(self.take(Promise::Stored(actor), held, amount))
    }

    /// True for the first that asks: a collectible changes hands once in a block.
    pub(super) fn take_collectible(&mut self, id: U256) -> bool {
        self.moved.insert(id)
    }

    /// The approval that must come first where the spender may not yet take the tokens.
    pub(super) fn approval_for(
        &mut self,
        token: Address,
        actor: Actor,
        spender: Address,
        amount: U256,
    ) -> Result<Vec<Intent>, TrafficError> {
        if self.take_allowance(token, actor, spender, amount)? {
            return Ok(vec![]);
        }
        let value = U256::MAX;
        let approve = Bep20::approveCall { spender, value };
        Ok(vec![Intent::call(actor, token, &approve)])
    }

    fn take(&mut self, promise: Promise, held: U256, amount: U256) -> bool {
        let promised = self.promised.entry(promise).or_default();
        let total = promised.saturating_add(amount);
        let enough = total <= held;
        if enough {
            *promised = total;
        }
        enough
    }
}
