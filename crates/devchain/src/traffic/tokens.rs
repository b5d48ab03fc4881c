//! Activities with fungible tokens.

use alloy_primitives::U256;
use rand::{Rng, seq::IndexedRandom};

use super::{
    TrafficError,
    amount::{COIN, spread, units},
    context::ActivityContext,
    deployed::Token,
    intent::{Actor, Intent},
    interfaces::{Bep20, WrappedCoin},
    native::top_up,
};

/// The maximum of a transfer, in whole tokens.
const MAX_TOKENS: u64 = 2_000;

pub(super) fn transfer(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (from, token, value) = draw(context);
    let to = context.people.receiver(from, context.rng);
    if !context.reserve_tokens(token.address, from, value)? {
        return supply(context, token, from, value);
    }
    Ok(vec![Intent::call(from, token.address, &Bep20::transferCall { to, value })])
}

/// An allowance that is never used.
pub(super) fn approve(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (from, token, value) = draw(context);
    let spender = context.people.regular(context.rng);
    let value = match context.rng.random_range(0..4) {
        0 => U256::MAX,
        1 => U256::ZERO,
        _ => value,
    };
    Ok(vec![Intent::call(from, token.address, &Bep20::approveCall { spender, value })])
}

/// The next actor transfers tokens by allowance; without an allowance, one is granted first.
pub(super) fn transfer_from(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (owner, token, value) = draw(context);
    let spender = context.people.next_after(owner);
    let spending = context.people.address(spender);
    if !context.reserve_tokens(token.address, owner, value)? {
        return supply(context, token, owner, value);
    }
    if !context.reserve_allowance(token.address, owner, spending, value)? {
        let value = units(20 * MAX_TOKENS, token.decimals);
        let approve = Bep20::approveCall { spender: spending, value };
        return Ok(vec![Intent::call(owner, token.address, &approve)]);
    }
    let transfer = Bep20::transferFromCall {
        from: context.people.address(owner),
        to: context.people.receiver(spender, context.rng),
        value,
    };
    Ok(vec![Intent::call(spender, token.address, &transfer)])
}

pub(super) fn mint(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (actor, token, value) = draw(context);
    supply(context, token, actor, value)
}

pub(super) fn burn(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (from, token, value) = draw(context);
    if !context.reserve_tokens(token.address, from, value)? {
        return supply(context, token, from, value);
    }
    Ok(vec![match token.address == context.contracts.wrapped.address {
        true => Intent::call(from, token.address, &WrappedCoin::withdrawCall { wad: value }),
        false => Intent::call(from, token.address, &Bep20::burnCall { value }),
    }])
}

pub(super) fn wrap(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let value = spread(COIN * U256::from(5), context.rng);
    deposit(context, from, value)
}

pub(super) fn unwrap(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let wrapped = context.contracts.wrapped.address;
    let wad = spread(COIN * U256::from(5), context.rng);
    if !context.reserve_tokens(wrapped, from, wad)? {
        return deposit(context, from, wad);
    }
    Ok(vec![Intent::call(from, wrapped, &WrappedCoin::withdrawCall { wad })])
}

/// Supplies an actor with a token: minted by the treasury, or wrapped by the actor.
pub(super) fn supply(
    context: &mut ActivityContext<'_>,
    token: Token,
    to: Actor,
    least: U256,
) -> Result<Vec<Intent>, TrafficError> {
    if token.address == context.contracts.wrapped.address {
        return deposit(context, to, least);
    }
    // More than is needed now, so that mints remain rare.
    let value = least + units(10 * MAX_TOKENS, token.decimals);
    let mint = Bep20::mintCall { to: context.people.address(to), value };
    Ok(vec![Intent::call(Actor::TREASURY, token.address, &mint)])
}

/// Wraps coins: by calling deposit(), or by sending coins to the contract.
fn deposit(context: &mut ActivityContext<'_>, from: Actor, value: U256) -> Result<Vec<Intent>, TrafficError> {
    if !context.reserve_coins(from, value) {
        return top_up(context, from);
    }
    let wrapped = context.contracts.wrapped.address;
    Ok(vec![match context.rng.random_bool(0.7) {
        true => Intent::call(from, wrapped, &WrappedCoin::depositCall {}).with_value(value),
        false => Intent::payment(from, wrapped, value).with_gas(80_000),
    }])
}

/// An actor, a token and an amount. Amounts of the wrapped coin are smaller.
fn draw(context: &mut ActivityContext<'_>) -> (Actor, Token, U256) {
    let actor = context.actor();
    let contracts = context.contracts;
    let token = *contracts.tokens.choose(context.rng).unwrap_or(&contracts.wrapped);
    let most = if token.address == contracts.wrapped.address { 2 } else { MAX_TOKENS };
    let value = spread(units(most, token.decimals), context.rng);
    (actor, token, value)
}
