//! Tokens that deviate from the standard.

use alloy_primitives::U256;
use alloy_sol_types::{SolCall, SolEvent};

use super::{super::interfaces::*, *};
use crate::CallError;

fn deployed() -> (DevChain, DeployedContracts) {
    let chain = DevChain::new(DevChainConfig::default());
    let contracts = Traffic::new(chain.clone(), 1).deploy().unwrap().clone();
    (chain, contracts)
}

fn balance(chain: &DevChain, token: Token, holder: Address) -> U256 {
    read(chain, token.address, &Bep20::balanceOfCall { holder })
}

#[test]
fn standard_tokens_return_their_decimals() {
    assert_eq!(HISTORY.read(HISTORY.contracts.orchard.address, &Bep20::decimalsCall {}), 18);
    assert_eq!(HISTORY.read(HISTORY.contracts.dollar.address, &Bep20::decimalsCall {}), 6);
    assert_eq!(HISTORY.read(HISTORY.contracts.dollar.address, &Bep20::nameCall {}), "Harbor Dollar");
}

#[test]
fn the_decimals_of_one_token_revert() {
    let call = Call::to(HISTORY.contracts.no_decimals.address, Bep20::decimalsCall {}.abi_encode());
    assert!(matches!(HISTORY.chain.call(&call), Err(CallError::Reverted(_))));
}

#[test]
fn the_name_of_one_token_is_bytes32() {
    let call = Call::to(HISTORY.contracts.bytes32.address, Bep20::nameCall {}.abi_encode());
    let output = HISTORY.chain.call(&call).unwrap();
    assert_eq!(output.len(), 32);
    assert_eq!(output[..9], *b"Old Maker");
    assert!(output[9..].iter().all(|byte| *byte == 0));
    assert!(Bep20::nameCall::abi_decode_returns(&output).is_err());
}

#[test]
fn one_token_transfers_less_than_its_event_says() {
    let (chain, contracts) = deployed();
    let receiver = Address::repeat_byte(0xee);
    let sender = chain.accounts()[1].address();
    let value = U256::from(1_000);
    let token = contracts.silent_fee;
    mine(&chain, 0, token.address, U256::ZERO, &Bep20::mintCall { to: sender, value });

    let transfer = Bep20::transferCall { to: receiver, value };
    let mined = mine(&chain, 1, token.address, U256::ZERO, &transfer);

    let [log] = mined.receipt.logs() else { panic!("one log") };
    assert_eq!(Bep20::Transfer::decode_log(log).unwrap().value, value);
    assert_eq!(balance(&chain, token, receiver), U256::from(990));
    assert_eq!(balance(&chain, token, sender), U256::ZERO);
    assert_eq!(read(&chain, token.address, &Bep20::totalSupplyCall {}), value);
}

#[test]
fn wrapping_and_unwrapping_emit_no_transfer() {
    let (chain, contracts) = deployed();
    let holder = chain.accounts()[1].address();
    let wad = U256::from(5_000);

    let deposit = mine(&chain, 1, contracts.wrapped.address, wad, &WrappedCoin::depositCall {});
    let [log] = deposit.receipt.logs() else { panic!("one log") };
    assert_eq!(WrappedCoin::Deposit::decode_log(log).unwrap().wad, wad);
    assert_eq!(balance(&chain, contracts.wrapped, holder), wad);

    let withdraw = mine(&chain, 1, contracts.wrapped.address, U256::ZERO, &WrappedCoin::withdrawCall { wad });
    let [log] = withdraw.receipt.logs() else { panic!("one log") };
    assert_eq!(WrappedCoin::Withdrawal::decode_log(log).unwrap().wad, wad);
    assert_eq!(balance(&chain, contracts.wrapped, holder), U256::ZERO);
}

#[test]
fn collections_report_their_standard() {
    let supports =
        |contract, id: [u8; 4]| HISTORY.read(contract, &Collectible::supportsInterfaceCall { id: id.into() });
    let (bep165, bep721, bep1155) = ([0x01, 0xff, 0xc9, 0xa7], [0x80, 0xac, 0x58, 0xcd], [0xd9, 0xb6, 0x7a, 0x26]);
    assert!(supports(HISTORY.contracts.collectible, bep165) && supports(HISTORY.contracts.items, bep165));
    assert!(supports(HISTORY.contracts.collectible, bep721) && !supports(HISTORY.contracts.items, bep721));
    assert!(supports(HISTORY.contracts.items, bep1155) && !supports(HISTORY.contracts.collectible, bep1155));
    assert!(!supports(HISTORY.contracts.items, [0xff; 4]) && !supports(HISTORY.contracts.collectible, [0xff; 4]));
}
