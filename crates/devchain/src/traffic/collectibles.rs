//! Non-fungible tokens and game items.

use alloy_primitives::{Address, Bytes, U256};
use rand::Rng;

use super::{
    TrafficError,
    intent::{Actor, Intent},
    interfaces::{Collectible, GameItems},
    turn::Turn,
};

/// Item ids run from 1 to this.
const ITEMS: u64 = 12;

/// How many ids are tried to find one that its holder can still move in this block.
const TRIES: usize = 16;

pub(super) fn mint(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let to = turn.people.address(turn.actor());
    Ok(vec![Intent::call(from, turn.stage.collectible, &Collectible::mintCall { to })])
}

pub(super) fn transfer(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let Some((holder, token_id)) = find_movable(turn)? else {
        return mint(turn);
    };
    let contract = turn.stage.collectible;
    let from = turn.people.address(holder);
    // Mostly to people who can pass it on; what a stranger gets stays with the stranger.
    let to = match turn.rng.random_bool(0.8) {
        true => turn.people.address(turn.people.another(holder, turn.rng)),
        false => turn.people.regular(turn.rng),
    };
    Ok(vec![match turn.rng.random_bool(0.5) {
        true => Intent::call(holder, contract, &Collectible::safeTransferFromCall { from, to, tokenId: token_id }),
        false => Intent::call(holder, contract, &Collectible::transferFromCall { from, to, tokenId: token_id }),
    }])
}

pub(super) fn approve(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let contract = turn.stage.collectible;
    if turn.rng.random_bool(0.3) {
        let from = turn.actor();
        let call = Collectible::setApprovalForAllCall {
            operator: turn.people.regular(turn.rng),
            approved: turn.rng.random_bool(0.7),
        };
        return Ok(vec![Intent::call(from, contract, &call)]);
    }
    let Some((holder, token_id)) = find_movable(turn)? else {
        return mint(turn);
    };
    let call = Collectible::approveCall { approved: turn.people.regular(turn.rng), tokenId: token_id };
    Ok(vec![Intent::call(holder, contract, &call)])
}

pub(super) fn burn(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let Some((holder, token_id)) = find_movable(turn)? else {
        return mint(turn);
    };
    let call = Collectible::burnCall { tokenId: token_id };
    Ok(vec![Intent::call(holder, turn.stage.collectible, &call)])
}

pub(super) fn mint_items(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let to = turn.actor();
    let ids = draw_ids(turn);
    Ok(vec![mint_to(turn, to, ids)])
}

pub(super) fn transfer_items(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let ids = draw_ids(turn);
    let Some(values) = take_all(turn, from, &ids)? else {
        return Ok(vec![mint_to(turn, from, ids)]);
    };
    let to = turn.people.receiver(from, turn.rng);
    let holder = turn.people.address(from);
    Ok(vec![move_items(turn, from, holder, to, ids, values)])
}

pub(super) fn burn_items(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let holder = turn.actor();
    let ids = draw_ids(turn);
    let Some(values) = take_all(turn, holder, &ids)? else {
        return Ok(vec![mint_to(turn, holder, ids)]);
    };
    let from = turn.people.address(holder);
    let contract = turn.stage.items;
    Ok(vec![match (ids.as_slice(), values.as_slice()) {
        (&[id], &[value]) => Intent::call(holder, contract, &GameItems::burnCall { from, id, value }),
        _ => Intent::call(holder, contract, &GameItems::burnBatchCall { from, ids, values }),
    }])
}

/// A living collectible that an actor holds and that does not move in this block yet.
fn find_movable(turn: &mut Turn<'_>) -> Result<Option<(Actor, U256)>, TrafficError> {
    let contract = turn.stage.collectible;
    let last: u64 = turn.read(contract, &Collectible::lastIdCall {})?.saturating_to();
    if last == 0 {
        return Ok(None);
    }
    for _ in 0..TRIES {
        // The newer half is livelier: old ones have mostly been burnt or given away.
        let token_id = U256::from(turn.rng.random_range(last / 2..=last).max(1));
        let call = Collectible::ownerOfCall { tokenId: token_id };
        let Some(owner) = turn.reader.read_unless_reverted(contract, &call)? else {
            continue;
        };
        let holder = turn.people.all_actors().find(|actor| turn.people.address(*actor) == owner);
        if let Some(holder) = holder
            && turn.take_collectible(token_id)
        {
            return Ok(Some((holder, token_id)));
        }
    }
    Ok(None)
}

/// One id in most cases, else two to five different ones.
fn draw_ids(turn: &mut Turn<'_>) -> Vec<U256> {
    let count = if turn.rng.random_bool(0.55) { 1 } else { turn.rng.random_range(2..=5) };
    let first = turn.rng.random_range(0..ITEMS);
    (0..count).map(|step| U256::from(1 + (first + step) % ITEMS)).collect()
}

/// A few of each id, if the actor has them all.
fn take_all(turn: &mut Turn<'_>, actor: Actor, ids: &[U256]) -> Result<Option<Vec<U256>>, TrafficError> {
    let mut values = Vec::with_capacity(ids.len());
    for &id in ids {
        let value = U256::from(turn.rng.random_range(1..=3));
        if !turn.take_items(actor, id, value)? {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(values))
}

fn mint_to(turn: &mut Turn<'_>, actor: Actor, ids: Vec<U256>) -> Intent {
    let to = turn.people.address(actor);
    let contract = turn.stage.items;
    let values: Vec<U256> = ids.iter().map(|_| U256::from(turn.rng.random_range(10..=100))).collect();
    match (ids.as_slice(), values.as_slice()) {
        (&[id], &[value]) => Intent::call(actor, contract, &GameItems::mintCall { to, id, value }),
        _ => Intent::call(actor, contract, &GameItems::mintBatchCall { to, ids, values }),
    }
}

fn move_items(turn: &Turn<'_>, actor: Actor, from: Address, to: Address, ids: Vec<U256>, values: Vec<U256>) -> Intent {
    let contract = turn.stage.items;
    let data = Bytes::new();
    match (ids.as_slice(), values.as_slice()) {
        (&[id], &[value]) => {
            Intent::call(actor, contract, &GameItems::safeTransferFromCall { from, to, id, value, data })
        }
        _ => Intent::call(actor, contract, &GameItems::safeBatchTransferFromCall { from, to, ids, values, data }),
    }
}
