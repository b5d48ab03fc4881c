//! The examples of the demo.

use alloy_consensus::Transaction;
use alloy_sol_types::SolEvent;

use super::{super::interfaces::*, *};
use crate::ReorgedTransactions;

/// A short history with pictures and examples.
fn shown() -> (DevChain, Traffic, Showcase) {
    let chain = DevChain::new(DevChainConfig { accounts: 20, ..DevChainConfig::default() });
    let mut traffic = Traffic::new(chain.clone(), 2).with_collection(Collection::Pictures);
    traffic.deploy().unwrap();
    for _ in 0..10 {
        traffic.step().unwrap();
        chain.mine(None);
    }
    let showcase = *traffic.showcase().unwrap();
    (chain, traffic, showcase)
}

#[test]
fn the_examples_take_their_blocks_and_the_crew_is_paid() {
    let (chain, _, showcase) = shown();
    let included = chain.receipt(showcase.payday).unwrap();
    assert_eq!(included.block.number(), chain.head().number);
    let logs = included.transaction().receipt.logs().to_vec();
    let paid: Vec<_> = logs.iter().filter_map(|log| Payroll::Paid::decode_log(log).ok()).collect();
    assert_eq!(paid.len(), 3);
    assert!(paid.iter().all(|paid| paid.address == showcase.contracts.payroll && paid.memo == "Wages of the week"));
    assert_eq!(read(&chain, showcase.contracts.payroll, &Payroll::paydaysCall {}), U256::from(1));
    // The storage is that of the proxy.
    assert_eq!(read(&chain, showcase.contracts.payroll_implementation, &Payroll::paydaysCall {}), U256::ZERO);
}

#[test]
fn the_failures_fail_and_the_others_succeed() {
    let (chain, _, showcase) = shown();
    let succeeded = |hash| chain.receipt(hash).unwrap().transaction().succeeded();
    for hash in [showcase.swap, showcase.payday, showcase.message] {
        assert!(succeeded(hash));
    }
    let Showcase { failed_swap, failed_with_text, failed_with_panic, out_of_gas, .. } = showcase;
    for hash in [failed_swap, failed_with_text, failed_with_panic, out_of_gas] {
        assert!(!succeeded(hash));
    }
    let message = chain.receipt(showcase.message).unwrap();
    assert!(str::from_utf8(message.transaction().transaction.input()).unwrap().contains("Thank you for the boats!"));
}

#[test]
fn the_clone_counts_for_itself_and_the_impostor_is_not_the_dollar() {
    let (chain, traffic, showcase) = shown();
    let contracts = traffic.contracts.unwrap();
    assert_eq!(chain.code(showcase.contracts.counter_clone).len(), 45);
    let dollar = contracts.dollar.address;
    let name = |token| read(&chain, token, &Bep20::nameCall {});
    assert_eq!(name(showcase.contracts.impostor), name(dollar));
    // Its owner is in its code, so that it is not the same code as that of a verified token.
    assert_ne!(chain.code(showcase.contracts.impostor), chain.code(dollar));
}

#[test]
fn the_examples_are_repeated_as_intended_also_after_a_reorg() {
    let (chain, mut traffic, showcase) = shown();
    for round in 0..30 {
        if round == 10 {
            chain.reorg(2, 3, ReorgedTransactions::Replay).unwrap();
            chain.mine(None);
        }
        let sent = traffic.step().unwrap();
        chain.mine(None);
        for sent in sent {
            let included = chain.receipt(sent.hash).unwrap();
            assert_eq!(included.transaction().succeeded(), sent.outcome == Outcome::Succeeds);
        }
    }
    assert!(read(&chain, showcase.contracts.payroll, &Payroll::paydaysCall {}) > U256::from(1));
}

#[test]
fn every_published_contract_has_the_code_of_its_artifact() {
    let (chain, traffic, showcase) = shown();
    let mut published = traffic.contracts.unwrap().published();
    published.extend(showcase.contracts.published());
    for (address, contract) in published {
        assert!(!chain.code(address).is_empty(), "{contract:?}");
        // The metadata hash at the end is the same, whatever the constructor wrote into the code.
        let code = contract.creation_code();
        assert_eq!(chain.code(address)[chain.code(address).len() - 53..], code[code.len() - 53..], "{contract:?}");
    }
}
