//! Contract creations, by transactions and inside calls.

use alloy_primitives::{B256, U256};
use rand::{Rng, seq::IndexedRandom};

use super::{
    TrafficError,
    amount::units,
    artifact::Contract,
    context::ActivityContext,
    intent::{Actor, Intent},
    interfaces::{Bep20, Nursery},
};

const NURSERY_GAS: u64 = 400_000;

const FIRST_WORDS: [&str; 8] = ["Silver", "Quiet", "Northern", "Paper", "Amber", "Tidal", "Copper", "Green"];
const SECOND_WORDS: [&str; 8] = ["Fox", "River", "Kite", "Anchor", "Meadow", "Comet", "Garden", "Whale"];

/// A contract created by a transaction.
pub(super) fn create(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    Ok(match context.rng.random_range(0..4) {
        0 => launch_token(context, from),
        1 => {
            let code = Contract::Collectible.creation_with(&draw_name(context));
            vec![Intent::creation(from, code)]
        }
        2 => vec![Intent::creation(from, Contract::Vault.creation_code())],
        _ => vec![Intent::creation(from, Contract::Counter.creation_code())],
    })
}

/// A contract created inside a call: a full one or a proxy, with CREATE or CREATE2.
pub(super) fn create_inside(context: &mut ActivityContext<'_>) -> Result<Vec<Intent>, TrafficError> {
    let from = context.actor();
    let (nursery, original) = (context.contracts.nursery, context.contracts.counter);
    let salt = B256::new(context.rng.random());
    let intent = match context.rng.random_range(0..4) {
        0 => Intent::call(from, nursery, &Nursery::createCall {}),
        1 => Intent::call(from, nursery, &Nursery::create2Call { salt }),
        2 => Intent::call(from, nursery, &Nursery::cloneCall { original }),
        _ => Intent::call(from, nursery, &Nursery::clone2Call { original, salt }),
    };
    Ok(vec![intent.with_gas(NURSERY_GAS)])
}

/// A new token and its first mint.
fn launch_token(context: &mut ActivityContext<'_>, from: Actor) -> Vec<Intent> {
    let (name, symbol) = draw_name(context);
    let decimals = *[18, 18, 9, 8, 6, 0].choose(context.rng).unwrap_or(&18);
    let code = Contract::PlainToken.creation_with(&(name, symbol, U256::from(decimals)));
    let launcher = context.people.address(from);
    let token = launcher.create(context.reader.next_nonce(launcher));
    let mint = Bep20::mintCall { to: launcher, value: units(1_000_000, decimals) };
    vec![Intent::creation(from, code), Intent::call(from, token, &mint)]
}

fn draw_name(context: &mut ActivityContext<'_>) -> (String, String) {
    let first = FIRST_WORDS.choose(context.rng).unwrap_or(&FIRST_WORDS[0]);
    let second = SECOND_WORDS.choose(context.rng).unwrap_or(&SECOND_WORDS[0]);
    let symbol = format!("{}{}", &first[..2], &second[..2]).to_uppercase();
    (format!("{first} {second}"), symbol)
}
