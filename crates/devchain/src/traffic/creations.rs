//! New contracts, by transactions and inside calls.

use alloy_primitives::{B256, U256};
use rand::{Rng, seq::IndexedRandom};

use super::{
    TrafficError,
    amount::units,
    artifact::Contract,
    intent::{Actor, Intent},
    interfaces::{Bep20, Nursery},
    turn::Turn,
};

const NURSERY_GAS: u64 = 400_000;

const FIRST_WORDS: &[&str] = &["Silver", "Quiet", "Northern", "Paper", "Amber", "Tidal", "Copper", "Green"];
const SECOND_WORDS: &[&str] = &["Fox", "River", "Kite", "Anchor", "Meadow", "Comet", "Garden", "Whale"];

/// A contract created by a transaction of its own.
pub(super) fn create(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    Ok(match turn.rng.random_range(0..4) {
        0 => launch_token(turn, from),
        1 => {
            let code = Contract::Collectible.creation_with(&draw_name(turn));
            vec![Intent::creation(from, code)]
        }
        2 => vec![Intent::creation(from, Contract::Vault.creation_code())],
        _ => vec![Intent::creation(from, Contract::Counter.creation_code())],
    })
}

/// A contract created inside a call: a whole one or a proxy, by nonce or by salt.
pub(super) fn create_inside(turn: &mut Turn<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = turn.actor();
    let (nursery, original) = (turn.stage.nursery, turn.stage.counter);
    let salt = B256::new(turn.rng.random());
    let intent = match turn.rng.random_range(0..4) {
        0 => Intent::call(from, nursery, &Nursery::createCall {}),
        1 => Intent::call(from, nursery, &Nursery::create2Call { salt }),
        2 => Intent::call(from, nursery, &Nursery::cloneCall { original }),
        _ => Intent::call(from, nursery, &Nursery::clone2Call { original, salt }),
    };
    Ok(vec![intent.with_gas(NURSERY_GAS)])
}

/// A new token, and at once its first mint.
fn launch_token(turn: &mut Turn<'_>, from: Actor) -> Vec<Intent> {
    let (name, symbol) = draw_name(turn);
    let decimals = *[18, 18, 9, 8, 6, 0].choose(turn.rng).unwrap_or(&18);
    let code = Contract::PlainToken.creation_with(&(name, symbol, U256::from(decimals)));
    let launcher = turn.people.address(from);
    let token = launcher.create(turn.reader.next_nonce(launcher));
    let mint = Bep20::mintCall { to: launcher, value: units(1_000_000, decimals) };
    vec![Intent::creation(from, code), Intent::call(from, token, &mint)]
}

fn draw_name(turn: &mut Turn<'_>) -> (String, String) {
    let first = FIRST_WORDS.choose(turn.rng).unwrap_or(&FIRST_WORDS[0]);
    let second = SECOND_WORDS.choose(turn.rng).unwrap_or(&SECOND_WORDS[0]);
    let symbol = format!("{}{}", &first[..2], &second[..2]).to_uppercase();
    (format!("{first} {second}"), symbol)
}
