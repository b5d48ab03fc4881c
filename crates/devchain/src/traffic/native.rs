//! Payments in the native coin, and calls to the counter and the vault.

use alloy_primitives::U256;
use rand::Rng;

use super::{
    TrafficError,
    amount::{COIN, GAS_RESERVE, spread},
    context::ActivityContext,
    intent::{Actor, Intent},
    interfaces::{Counter, Vault},
};

/// Payments to receivers that never send are small, so that the actors keep their coins.
const MAX_PAYMENT: u64 = 100_000_000_000_000_000;

/// A payment of one wei up to a tenth of a coin.
pub(super) fn pay(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let to = context.people.receiver(from, context.rng);
    let value = spread(U256::from(MAX_PAYMENT), context.rng);
    if !context.reserve_coins(from, value) {
        return top_up(context, from);
    }
    Ok(vec![Intent::payment(from, to, value)])
}

/// A payment between actors that exceeds 64 bits.
pub(super) fn pay_large_amount(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let to = context.people.another(from, context.rng);
    let value = COIN * U256::from(19) + spread(COIN * U256::from(20), context.rng);
    if !context.reserve_coins(from, value) {
        return top_up(context, from);
    }
    Ok(vec![Intent::payment(from, context.people.address(to), value)])
}

pub(super) fn pay_nothing(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let to = context.people.receiver(from, context.rng);
    Ok(vec![Intent::payment(from, to, U256::ZERO)])
}

pub(super) fn pay_oneself(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let value = spread(COIN, context.rng);
    if !context.reserve_coins(from, value) {
        return top_up(context, from);
    }
    Ok(vec![Intent::payment(from, context.people.address(from), value)])
}

pub(super) fn count(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    Ok(vec![Intent::call(from, context.contracts.counter, &Counter::incrementCall {})])
}

/// A deposit into the vault, or a withdrawal by an internal payment.
pub(super) fn use_vault(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let vault = context.contracts.vault;
    let amount = spread(COIN, context.rng);
    if context.rng.random_bool(0.5) && context.reserve_stored(from, amount)? {
        let to = context.people.address(context.people.another(from, context.rng));
        return Ok(vec![Intent::call(from, vault, &Vault::takeOutCall { to, amount })]);
    }
    if !context.reserve_coins(from, amount) {
        return top_up(context, from);
    }
    Ok(vec![Intent::call(from, vault, &Vault::storeCall {}).with_value(amount)])
}

/// Pays half of what the richest actor can spend to an actor that has too little.
pub(super) fn top_up(context: &mut ActivityContext<'_>, poor: Actor) -> Result<Vec<Intent>, TrafficError> {
    let coins = |actor: &Actor| context.reader.coins(context.people.address(*actor));
    let richest = context
        .people
        .all_actors()
        .chain([Actor::TREASURY])
        .filter(|actor| *actor != poor)
        .max_by_key(coins)
        .unwrap_or(Actor::TREASURY);
    let value = coins(&richest).saturating_sub(GAS_RESERVE) / U256::from(2);
    if !context.reserve_coins(richest, value) {
        return Ok(vec![]);
    }
    Ok(vec![Intent::payment(richest, context.people.address(poor), value)])
}
