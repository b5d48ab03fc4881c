//! The tokens that an explorer stumbles over, each with its own trouble.

use alloy_primitives::U256;
use alloy_sol_types::{SolCall, SolEvent};

use super::{super::interfaces::*, *};
use crate::CallError;

fn deployed() -> (DevChain, Stage) {
    let chain = DevChain::new(DevChainConfig::default());
    let stage = Traffic::new(chain.clone(), 1).deploy().unwrap().clone();
    (chain, stage)
}

fn balance(chain: &DevChain, token: Token, holder: Address) -> U256 {
    ask(chain, token.address, &Bep20::balanceOfCall { holder })
}

#[test]
fn plain_tokens_tell_their_decimals() {
    assert_eq!(PAST.ask(PAST.stage.orchard.address, &Bep20::decimalsCall {}), 18);
    assert_eq!(PAST.ask(PAST.stage.dollar.address, &Bep20::decimalsCall {}), 6);
    assert_eq!(PAST.ask(PAST.stage.dollar.address, &Bep20::nameCall {}), "Harbor Dollar");
}

#[test]
fn one_token_reverts_when_asked_for_its_decimals() {
    let call = Call::to(PAST.stage.no_decimals.address, Bep20::decimalsCall {}.abi_encode());
    assert!(matches!(PAST.chain.call(&call), Err(CallError::Reverted(_))));
}

#[test]
fn one_token_has_a_name_of_32_bytes() {
    let call = Call::to(PAST.stage.bytes32.address, Bep20::nameCall {}.abi_encode());
    let output = PAST.chain.call(&call).unwrap();
    assert_eq!(output.len(), 32);
    assert_eq!(output[..9], *b"Old Maker");
    assert!(output[9..].iter().all(|byte| *byte == 0));
    assert!(Bep20::nameCall::abi_decode_returns(&output).is_err());
}

#[test]
fn one_token_moves_less_than_its_event_says() {
    let (chain, stage) = deployed();
    let receiver = Address::repeat_byte(0xee);
    let sender = chain.accounts()[1].address();
    let value = U256::from(1_000);
    let token = stage.silent_fee;
    mine(&chain, 0, token.address, U256::ZERO, &Bep20::mintCall { to: sender, value });

    let transfer = Bep20::transferCall { to: receiver, value };
    let mined = mine(&chain, 1, token.address, U256::ZERO, &transfer);

    let [log] = mined.receipt.logs() else { panic!("one log") };
    assert_eq!(Bep20::Transfer::decode_log(log).unwrap().value, value);
    assert_eq!(balance(&chain, token, receiver), U256::from(990));
    assert_eq!(balance(&chain, token, sender), U256::ZERO);
    assert_eq!(ask(&chain, token.address, &Bep20::totalSupplyCall {}), value);
}

#[test]
fn coins_are_wrapped_and_unwrapped_without_a_transfer() {
    let (chain, stage) = deployed();
    let holder = chain.accounts()[1].address();
    let wad = U256::from(5_000);

    let deposit = mine(&chain, 1, stage.wrapped.address, wad, &WrappedCoin::depositCall {});
    let [log] = deposit.receipt.logs() else { panic!("one log") };
    assert_eq!(WrappedCoin::Deposit::decode_log(log).unwrap().wad, wad);
    assert_eq!(balance(&chain, stage.wrapped, holder), wad);

    let withdraw = mine(&chain, 1, stage.wrapped.address, U256::ZERO, &WrappedCoin::withdrawCall { wad });
    let [log] = withdraw.receipt.logs() else { panic!("one log") };
    assert_eq!(WrappedCoin::Withdrawal::decode_log(log).unwrap().wad, wad);
    assert_eq!(balance(&chain, stage.wrapped, holder), U256::ZERO);
}

#[test]
fn collections_say_which_standard_they_follow() {
    let says = |contract, id: [u8; 4]| PAST.ask(contract, &Collectible::supportsInterfaceCall { id: id.into() });
    let (bep165, bep721, bep1155) = ([0x01, 0xff, 0xc9, 0xa7], [0x80, 0xac, 0x58, 0xcd], [0xd9, 0xb6, 0x7a, 0x26]);
    assert!(says(PAST.stage.collectible, bep165) && says(PAST.stage.items, bep165));
    assert!(says(PAST.stage.collectible, bep721) && !says(PAST.stage.items, bep721));
    assert!(says(PAST.stage.items, bep1155) && !says(PAST.stage.collectible, bep1155));
    assert!(!says(PAST.stage.items, [0xff; 4]) && !says(PAST.stage.collectible, [0xff; 4]));
}
