//! Transactions that are mined but fail.

use alloy_primitives::{Bytes, U256};
use rand::Rng;

use super::{
    TrafficError,
    amount::{COIN, spread},
    artifact::Contract,
    context::ActivityContext,
    intent::{Actor, Intent},
    interfaces::{Bep20, Collectible, Failing, V2Router},
};

/// Enough to start a token transfer, but not to finish it.
const INSUFFICIENT_GAS: u64 = 27_000;

/// Creation code that reverts: PUSH0 PUSH0 REVERT.
const REVERTING_CODE: &[u8] = &[0x5f, 0x5f, 0xfd];

pub(super) fn fail(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let intent = match context.rng.random_range(0..20) {
        0..6 => fail_on_purpose(context, from),
        6..9 => run_out_of_gas(context, from),
        9 => fail_to_create(context, from),
        10..15 => misuse_token(context, from),
        15..18 => misuse_router(context, from),
        _ => misuse_others(context, from),
    };
    Ok(vec![intent.expected_to_fail()])
}

fn fail_on_purpose(context: &mut ActivityContext<'_>, from: Actor) -> Intent {
    let failing = context.contracts.failing;
    let number = U256::from(context.rng.random::<u32>());
    match context.rng.random_range(0..8) {
        0 | 1 => Intent::call(from, failing, &Failing::withMessageCall { amount: number }),
        2 | 3 => Intent::call(from, failing, &Failing::withCustomErrorCall { code: number }),
        4 => Intent::call(from, failing, &Failing::withAssertCall { number }),
        5 => Intent::call(from, failing, &Failing::withOverflowCall { number }),
        6 => Intent::call(from, failing, &Failing::withDivisionCall { number }),
        _ => Intent::call(from, failing, &Failing::withIndexCall { index: number }),
    }
}

fn run_out_of_gas(context: &mut ActivityContext<'_>, from: Actor) -> Intent {
    if context.rng.random_bool(0.5) {
        let gas = context.rng.random_range(60_000..300_000);
        return Intent::call(from, context.contracts.failing, &Failing::withoutEndCall {}).with_gas(gas);
    }
    let to = context.people.receiver(from, context.rng);
    let value = U256::from(1);
    Intent::call(from, context.contracts.orchard.address, &Bep20::transferCall { to, value }).with_gas(INSUFFICIENT_GAS)
}

/// A creation that reverts, or that has too little gas for its code.
fn fail_to_create(context: &mut ActivityContext<'_>, from: Actor) -> Intent {
    if context.rng.random_bool(0.5) {
        return Intent::creation(from, Bytes::from_static(REVERTING_CODE));
    }
    let code = Contract::Vault.creation_code();
    // More than the calldata costs, less than the 200 gas per byte of stored code.
    let gas = 100_000 + 60 * u64::try_from(code.len()).unwrap_or_default();
    Intent::creation(from, code).with_gas(gas)
}

fn misuse_token(context: &mut ActivityContext<'_>, from: Actor) -> Intent {
    let token = context.contracts.dollar.address;
    let to = context.people.receiver(from, context.rng);
    // More than any balance, but without overflow.
    let value = (U256::from(1) << 200) + spread(COIN, context.rng);
    match context.rng.random_range(0..4) {
        0 | 1 => Intent::call(from, token, &Bep20::transferCall { to, value }),
        2 => Intent::call(from, token, &Bep20::mintCall { to, value }),
        _ => {
            let from_treasury =
                Bep20::transferFromCall { from: context.people.address(Actor::TREASURY), to, value: U256::from(1) };
            Intent::call(from, token, &from_treasury)
        }
    }
}

fn misuse_router(context: &mut ActivityContext<'_>, from: Actor) -> Intent {
    let mut swap = V2Router::swapExactTokensForTokensCall {
        amountIn: spread(COIN, context.rng),
        amountOutMin: U256::ZERO,
        path: vec![context.contracts.orchard.address, context.contracts.lantern.address],
        to: context.people.address(from),
        deadline: context.deadline(),
    };
    if context.rng.random_bool(0.5) {
        swap.deadline = U256::from(context.reader.timestamp());
    } else {
        swap.amountOutMin = U256::MAX;
    }
    Intent::call(from, context.contracts.v2_router, &swap)
}

fn misuse_others(context: &mut ActivityContext<'_>, from: Actor) -> Intent {
    match context.rng.random_range(0..3) {
        // A contract that accepts no coins.
        0 => Intent::payment(from, context.contracts.counter, U256::from(1)).with_gas(60_000),
        1 => Intent::call(from, context.contracts.failing, &Failing::withoutReasonCall {}),
        _ => {
            let burn = Collectible::burnCall { tokenId: U256::MAX };
            Intent::call(from, context.contracts.collectible, &burn)
        }
    }
}
