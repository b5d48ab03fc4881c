//! Payments in the native coin, and the two small contracts that live on them.

use alloy_primitives::U256;
use rand::Rng;

use super::{
    TrafficError,
    amount::{COIN, GAS_RESERVE, spread},
    intent::{Actor, Intent},
    interfaces::{Counter, Vault},
    turn::Turn,
};

/// Payments to those who never pay back stay small, so that coins do not drain from the actors.
const MOST_TO_STRANGERS: u64 = 100_000_000_000_000_000;

/// A payment to anyone, of one wei up to a tenth of a coin.
pub(super) fn pay(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let to = turn.people.receiver(from, turn.rng);
    let value = spread(U256::from(MOST_TO_STRANGERS), turn.rng);
    if !turn.take_coins(from, value) {
        return top_up(turn, from);
    }
    Ok(vec![Intent::payment(from, to, value)])
}

/// A payment among actors that no 64-bit number can hold.
pub(super) fn pay_much(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let to = turn.people.another(from, turn.rng);
    let value = COIN * U256::from(19) + spread(COIN * U256::from(20), turn.rng);
    if !turn.take_coins(from, value) {
        return top_up(turn, from);
    }
    Ok(vec![Intent::payment(from, turn.people.address(to), value)])
}

pub(super) fn pay_nothing(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let to = turn.people.receiver(from, turn.rng);
    Ok(vec![Intent::payment(from, to, U256::ZERO)])
}

pub(super) fn pay_oneself(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let value = spread(COIN, turn.rng);
    if !turn.take_coins(from, value) {
        return top_up(turn, from);
    }
    Ok(vec![Intent::payment(from, turn.people.address(from), value)])
}

pub(super) fn count(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    Ok(vec![Intent::call(from, turn.stage.counter, &Counter::incrementCall {})])
}

/// Coins into the vault, or out of it again by a payment inside a call.
pub(super) fn use_vault(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let vault = turn.stage.vault;
    let amount = spread(COIN, turn.rng);
    if turn.rng.random_bool(0.5) && turn.take_stored(from, amount)? {
        let to = turn.people.address(turn.people.another(from, turn.rng));
        return Ok(vec![Intent::call(from, vault, &Vault::takeOutCall { to, amount })]);
    }
    if !turn.take_coins(from, amount) {
        return top_up(turn, from);
    }
    Ok(vec![Intent::call(from, vault, &Vault::storeCall {}).with_value(amount)])
}

/// Half of what the richest actor can give to one who has too little left.
pub(super) fn top_up(turn: &mut Turn<'_>, poor: Actor) -> Result<Vec<Intent>, TrafficError> {
    let coins = |actor: &Actor| turn.reader.coins(turn.people.address(*actor));
    let richest = turn
        .people
        .all_actors()
        .chain([Actor::TREASURY])
        .filter(|actor| *actor != poor)
        .max_by_key(coins)
        .unwrap_or(Actor::TREASURY);
    let value = coins(&richest).saturating_sub(GAS_RESERVE) / U256::from(2);
    if !turn.take_coins(richest, value) {
        return Ok(vec![]);
    }
    Ok(vec![Intent::payment(richest, turn.people.address(poor), value)])
}
