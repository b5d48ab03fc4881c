//! Activities with non-fungible tokens and game items.

use alloy_primitives::{Address, Bytes, U256};
use rand::Rng;

use super::{
    TrafficError,
    context::ActivityContext,
    intent::{Actor, Intent},
    interfaces::{Collectible, GameItems},
};

/// Item ids run from 1 to this.
const ITEMS: u64 = 12;

/// How many ids are tried to find one that has not moved in this block.
const TRIES: usize = 16;

pub(super) fn mint(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let to = context.people.address(context.actor());
    Ok(vec![Intent::call(from, context.contracts.collectible, &Collectible::mintCall { to })])
}

pub(super) fn transfer(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let Some((holder, token_id)) = find_movable(context)? else {
        return mint(context);
    };
    let contract = context.contracts.collectible;
    let from = context.people.address(holder);
    // Mostly to actors, who can transfer it again; other receivers never send.
    let to = match context.rng.random_bool(0.8) {
        true => context.people.address(context.people.another(holder, context.rng)),
        false => context.people.regular(context.rng),
    };
    Ok(vec![match context.rng.random_bool(0.5) {
        true => Intent::call(holder, contract, &Collectible::safeTransferFromCall { from, to, tokenId: token_id }),
        false => Intent::call(holder, contract, &Collectible::transferFromCall { from, to, tokenId: token_id }),
    }])
}

pub(super) fn approve(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let contract = context.contracts.collectible;
    if context.rng.random_bool(0.3) {
        let from = context.actor();
        let call = Collectible::setApprovalForAllCall {
            operator: context.people.regular(context.rng),
            approved: context.rng.random_bool(0.7),
        };
        return Ok(vec![Intent::call(from, contract, &call)]);
    }
    let Some((holder, token_id)) = find_movable(context)? else {
        return mint(context);
    };
    let call = Collectible::approveCall { approved: context.people.regular(context.rng), tokenId: token_id };
    Ok(vec![Intent::call(holder, contract, &call)])
}

pub(super) fn burn(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let Some((holder, token_id)) = find_movable(context)? else {
        return mint(context);
    };
    let call = Collectible::burnCall { tokenId: token_id };
    Ok(vec![Intent::call(holder, context.contracts.collectible, &call)])
}

pub(super) fn mint_items(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let to = context.actor();
    let ids = draw_ids(context);
    Ok(vec![mint_to(context, to, ids)])
}

pub(super) fn transfer_items(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let ids = draw_ids(context);
    let Some(values) = reserve_all(context, from, &ids)? else {
        return Ok(vec![mint_to(context, from, ids)]);
    };
    let to = context.people.receiver(from, context.rng);
    let holder = context.people.address(from);
    Ok(vec![move_items(context, from, holder, to, ids, values)])
}

pub(super) fn burn_items(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let holder = context.actor();
    let ids = draw_ids(context);
    let Some(values) = reserve_all(context, holder, &ids)? else {
        return Ok(vec![mint_to(context, holder, ids)]);
    };
    let from = context.people.address(holder);
    let contract = context.contracts.items;
    Ok(vec![match (ids.as_slice(), values.as_slice()) {
        (&[id], &[value]) => Intent::call(holder, contract, &GameItems::burnCall { from, id, value }),
        _ => Intent::call(holder, contract, &GameItems::burnBatchCall { from, ids, values }),
    }])
}

/// An existing collectible of an actor that has not moved in this block.
fn find_movable(context: &mut ActivityContext<'_>) -> Result<Option<(Actor, U256)>, TrafficError> {
    let contract = context.contracts.collectible;
    let last: u64 = context.read(contract, &Collectible::lastIdCall {})?.saturating_to();
    if last == 0 {
        return Ok(None);
    }
    for _ in 0..TRIES {
        // From the newer half: old ones have mostly been burnt or left the actors.
        let token_id = U256::from(context.rng.random_range(last / 2..=last).max(1));
        let call = Collectible::ownerOfCall { tokenId: token_id };
        let Some(owner) = context.reader.read_unless_reverted(contract, &call)? else {
            continue;
        };
        let holder = context.people.all_actors().find(|actor| context.people.address(*actor) == owner);
        if let Some(holder) = holder
            && context.reserve_collectible(token_id)
        {
            return Ok(Some((holder, token_id)));
        }
    }
    Ok(None)
}

/// Usually one id, else two to five different ones.
fn draw_ids(context: &mut ActivityContext<'_>) -> Vec<U256> {
    let count = if context.rng.random_bool(0.55) { 1 } else { context.rng.random_range(2..=5) };
    let first = context.rng.random_range(0..ITEMS);
    (0..count).map(|step| U256::from(1 + (first + step) % ITEMS)).collect()
}

/// Reserves a few of each id; None if the actor does not have them all.
fn reserve_all(
    context: &mut ActivityContext<'_>,
    actor: Actor,
    ids: &[U256],
) -> Result<Option<Vec<U256>>, TrafficError> {
    let mut values = Vec::with_capacity(ids.len());
    for &id in ids {
        let value = U256::from(context.rng.random_range(1..=3));
        if !context.reserve_items(actor, id, value)? {
            return Ok(None);
        }
        values.push(value);
    }
    Ok(Some(values))
}

fn mint_to(context: &mut ActivityContext<'_>, actor: Actor, ids: Vec<U256>) -> Intent {
    let to = context.people.address(actor);
    let contract = context.contracts.items;
    let values: Vec<U256> = ids.iter().map(|_| U256::from(context.rng.random_range(10..=100))).collect();
    match (ids.as_slice(), values.as_slice()) {
        (&[id], &[value]) => Intent::call(actor, contract, &GameItems::mintCall { to, id, value }),
        _ => Intent::call(actor, contract, &GameItems::mintBatchCall { to, ids, values }),
    }
}

fn move_items(
    context: &ActivityContext<'_>,
    actor: Actor,
    from: Address,
    to: Address,
    ids: Vec<U256>,
    values: Vec<U256>,
) -> Intent {
    let contract = context.contracts.items;
    let data = Bytes::new();
    match (ids.as_slice(), values.as_slice()) {
        (&[id], &[value]) => {
            Intent::call(actor, contract, &GameItems::safeTransferFromCall { from, to, id, value, data })
        }
        _ => Intent::call(actor, contract, &GameItems::safeBatchTransferFromCall { from, to, ids, values, data }),
    }
}
