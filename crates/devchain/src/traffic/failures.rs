//! Transactions that are mined and fail.

use alloy_primitives::{Bytes, U256};
use rand::Rng;

use super::{
    TrafficError,
    amount::{COIN, spread},
    artifact::Contract,
    intent::{Actor, Intent},
    interfaces::{Bep20, Collectible, Failing, V2Router},
    turn::Turn,
};

/// Too little for a token transfer, enough to begin one.
const SCANT_GAS: u64 = 27_000;

/// Creation code that reverts: PUSH0 PUSH0 REVERT.
const REVERTING_CODE: &[u8] = &[0x5f, 0x5f, 0xfd];

pub(super) fn fail(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let intent = match turn.rng.random_range(0..20) {
        0..6 => fail_on_purpose(turn, from),
        6..9 => run_out_of_gas(turn, from),
        9 => create_in_vain(turn, from),
        10..15 => misuse_token(turn, from),
        15..18 => misuse_router(turn, from),
        _ => misuse_others(turn, from),
    };
    Ok(vec![intent.meant_to_fail()])
}

fn fail_on_purpose(turn: &mut Turn<'_>, from: Actor) -> Intent {
    let failing = turn.stage.failing;
    let number = U256::from(turn.rng.random::<u32>());
    match turn.rng.random_range(0..8) {
        0 | 1 => Intent::call(from, failing, &Failing::withMessageCall { amount: number }),
        2 | 3 => Intent::call(from, failing, &Failing::withCustomErrorCall { code: number }),
        4 => Intent::call(from, failing, &Failing::withAssertCall { number }),
        5 => Intent::call(from, failing, &Failing::withOverflowCall { number }),
        6 => Intent::call(from, failing, &Failing::withDivisionCall { number }),
        _ => Intent::call(from, failing, &Failing::withIndexCall { index: number }),
    }
}

fn run_out_of_gas(turn: &mut Turn<'_>, from: Actor) -> Intent {
    if turn.rng.random_bool(0.5) {
        let gas = turn.rng.random_range(60_000..300_000);
        return Intent::call(from, turn.stage.failing, &Failing::withoutEndCall {}).with_gas(gas);
    }
    let to = turn.people.receiver(from, turn.rng);
    let value = U256::from(1);
    Intent::call(from, turn.stage.orchard.address, &Bep20::transferCall { to, value }).with_gas(SCANT_GAS)
}

/// A creation that reverts, or that cannot pay for the code it leaves.
fn create_in_vain(turn: &mut Turn<'_>, from: Actor) -> Intent {
    if turn.rng.random_bool(0.5) {
        return Intent::creation(from, Bytes::from_static(REVERTING_CODE));
    }
    let code = Contract::Vault.creation_code();
    // Above what the calldata alone costs, below the 200 gas for each byte kept.
    let gas = 100_000 + 60 * u64::try_from(code.len()).unwrap_or_default();
    Intent::creation(from, code).with_gas(gas)
}

fn misuse_token(turn: &mut Turn<'_>, from: Actor) -> Intent {
    let token = turn.stage.dollar.address;
    let to = turn.people.receiver(from, turn.rng);
    // More than there ever is, less than what overflows.
    let value = (U256::from(1) << 200) + spread(COIN, turn.rng);
    match turn.rng.random_range(0..4) {
        0 | 1 => Intent::call(from, token, &Bep20::transferCall { to, value }),
        2 => Intent::call(from, token, &Bep20::mintCall { to, value }),
        _ => {
            let from_treasury =
                Bep20::transferFromCall { from: turn.people.address(Actor::TREASURY), to, value: U256::from(1) };
            Intent::call(from, token, &from_treasury)
        }
    }
}

fn misuse_router(turn: &mut Turn<'_>, from: Actor) -> Intent {
    let mut swap = V2Router::swapExactTokensForTokensCall {
        amountIn: spread(COIN, turn.rng),
        amountOutMin: U256::ZERO,
        path: vec![turn.stage.orchard.address, turn.stage.lantern.address],
        to: turn.people.address(from),
        deadline: turn.deadline(),
    };
    if turn.rng.random_bool(0.5) {
        swap.deadline = U256::from(turn.reader.timestamp());
    } else {
        swap.amountOutMin = U256::MAX;
    }
    Intent::call(from, turn.stage.v2_router, &swap)
}

fn misuse_others(turn: &mut Turn<'_>, from: Actor) -> Intent {
    match turn.rng.random_range(0..3) {
        // A contract that takes no coins.
        0 => Intent::payment(from, turn.stage.counter, U256::from(1)).with_gas(60_000),
        1 => Intent::call(from, turn.stage.failing, &Failing::withoutReasonCall {}),
        _ => {
            let burn = Collectible::burnCall { tokenId: U256::MAX };
            Intent::call(from, turn.stage.collectible, &burn)
        }
    }
}
