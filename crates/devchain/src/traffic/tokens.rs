//! What people do with fungible tokens.

use alloy_primitives::U256;
use rand::{Rng, seq::IndexedRandom};

use super::{
    TrafficError,
    amount::{COIN, spread, units},
    intent::{Actor, Intent},
    interfaces::{Bep20, WrappedCoin},
    native::top_up,
    stage::Token,
    turn::Turn,
};

/// The most of a token that is moved at once, in whole tokens.
const MOST: u64 = 2_000;

pub(super) fn transfer(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (from, token, value) = draw(turn);
    let to = turn.people.receiver(from, turn.rng);
    if !turn.take_tokens(token.address, from, value)? {
        return supply(turn, token, from, value);
    }
    Ok(vec![Intent::call(from, token.address, &Bep20::transferCall { to, value })])
}

/// An allowance for someone who never uses it.
pub(super) fn approve(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (from, token, value) = draw(turn);
    let spender = turn.people.regular(turn.rng);
    let value = match turn.rng.random_range(0..4) {
        0 => U256::MAX,
        1 => U256::ZERO,
        _ => value,
    };
    Ok(vec![Intent::call(from, token.address, &Bep20::approveCall { spender, value })])
}

/// A neighbour takes tokens by allowance; where there is none yet, it is given first.
pub(super) fn transfer_from(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (owner, token, value) = draw(turn);
    let spender = turn.people.next_after(owner);
    let spending = turn.people.address(spender);
    if !turn.take_tokens(token.address, owner, value)? {
        return supply(turn, token, owner, value);
    }
    if !turn.take_allowance(token.address, owner, spending, value)? {
        let value = units(20 * MOST, token.decimals);
        let approve = Bep20::approveCall { spender: spending, value };
        return Ok(vec![Intent::call(owner, token.address, &approve)]);
    }
    let transfer = Bep20::transferFromCall {
        from: turn.people.address(owner),
        to: turn.people.receiver(spender, turn.rng),
        value,
    };
    Ok(vec![Intent::call(spender, token.address, &transfer)])
}

pub(super) fn mint(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (actor, token, value) = draw(turn);
    supply(turn, token, actor, value)
}

pub(super) fn burn(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let (from, token, value) = draw(turn);
    if !turn.take_tokens(token.address, from, value)? {
        return supply(turn, token, from, value);
    }
    Ok(vec![match token.address == turn.stage.wrapped.address {
        true => Intent::call(from, token.address, &WrappedCoin::withdrawCall { wad: value }),
        false => Intent::call(from, token.address, &Bep20::burnCall { value }),
    }])
}

pub(super) fn wrap(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let value = spread(COIN * U256::from(5), turn.rng);
    deposit(turn, from, value)
}

pub(super) fn unwrap(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let wrapped = turn.stage.wrapped.address;
    let wad = spread(COIN * U256::from(5), turn.rng);
    if !turn.take_tokens(wrapped, from, wad)? {
        return deposit(turn, from, wad);
    }
    Ok(vec![Intent::call(from, wrapped, &WrappedCoin::withdrawCall { wad })])
}

/// Gives an actor of a token: minted by the treasury, or wrapped by the actor.
pub(super) fn supply(turn: &mut Turn<'_>, token: Token, to: Actor, least: U256) -> Result<Vec<Intent>, TrafficError> {
    if token.address == turn.stage.wrapped.address {
        return deposit(turn, to, least);
    }
    // More than is needed now, so that minting does not drown everything else.
    let value = least + units(10 * MOST, token.decimals);
    let mint = Bep20::mintCall { to: turn.people.address(to), value };
    Ok(vec![Intent::call(Actor::TREASURY, token.address, &mint)])
}

/// Either of the two ways to wrap: by name, or by sending coins to the contract.
fn deposit(turn: &mut Turn<'_>, from: Actor, value: U256) -> Result<Vec<Intent>, TrafficError> {
    if !turn.take_coins(from, value) {
        return top_up(turn, from);
    }
    let wrapped = turn.stage.wrapped.address;
    Ok(vec![match turn.rng.random_bool(0.7) {
        true => Intent::call(from, wrapped, &WrappedCoin::depositCall {}).with_value(value),
        false => Intent::payment(from, wrapped, value).with_gas(80_000),
    }])
}

/// Someone, a token and an amount of it. The wrapped coin moves in smaller amounts: it is money.
fn draw(turn: &mut Turn<'_>) -> (Actor, Token, U256) {
    let actor = turn.actor();
    let stage = turn.stage;
    let token = *stage.tokens.choose(turn.rng).unwrap_or(&stage.wrapped);
    let most = if token.address == stage.wrapped.address { 2 } else { MOST };
    let value = spread(units(most, token.decimals), turn.rng);
    (actor, token, value)
}
