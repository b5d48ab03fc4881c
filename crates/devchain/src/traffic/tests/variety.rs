//! The traffic covers all kinds of transactions and events.

use std::collections::{HashMap, HashSet};

use alloy_consensus::{Transaction, TxType};
use alloy_primitives::{B256, U256, b256};
use alloy_sol_types::SolCall;

use super::{super::interfaces::*, *};

/// Event topics of public chains, written out: those of our contracts must be the same.
const PUBLIC_EVENTS: &[(&str, B256)] = &[
    ("Transfer", b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")),
    ("Approval", b256!("8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925")),
    ("ApprovalForAll", b256!("17307eab39ab6107e8899845ad3d59bd9653f200f220920489ca2b5937696c31")),
    ("Deposit", b256!("e1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c")),
    ("Withdrawal", b256!("7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65")),
    ("TransferSingle", b256!("c3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62")),
    ("TransferBatch", b256!("4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb")),
    ("V2 PairCreated", b256!("0d3648bd0f6ba80134a33ba9275ac585d9d315f0ad8355cddefde31afa28d0e9")),
    ("V2 Swap", b256!("d78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822")),
    ("V2 Sync", b256!("1c411e9a96e071241c2f21f7726b17ae89e3cab4c78be50e062b03a9fffbbad1")),
    ("V2 Mint", b256!("4c209b5fc8ad50758f13e2e1088ba56a560dff690a1c6fef26394f4c03821c4f")),
    ("V2 Burn", b256!("dccd412f0b1252819cb1fd330b93224ca42612892bb3f4f789976e6d81936496")),
    ("V3 PoolCreated", b256!("783cca1c0412dd0d695e784568c96da2e9c22ff989357a2e8b1d9b2b4e6b7118")),
    ("V3 Initialize", b256!("98636036cb66a9c19a37435efc1e90142190214e8abeb821bdba3f2990dd4c95")),
    ("V3 Mint", b256!("7a53080ba414158be7ec69b987b5fb7d07dee101fe85488f0853ae16239d0bde")),
    ("V3 Swap", b256!("c42079f94a6350d7e6235f29174924f928cc2ac818eb64fed8004e115fbcca67")),
];

/// Events of fungible and non-fungible tokens differ in the number of topics.
fn occurs(topic: B256, topics: usize) -> bool {
    HISTORY.logs().any(|log| log.topics().first() == Some(&topic) && log.topics().len() == topics)
}

#[test]
fn every_transaction_has_its_intended_outcome() {
    for sent in &HISTORY.sent {
        let included = HISTORY.chain.receipt(sent.hash).unwrap();
        let mined = included.transaction();
        assert_eq!(
            mined.succeeded(),
            sent.outcome == Outcome::Succeeds,
            "{} in block {}: to {:?}, input {}, used {} of {}",
            sent.hash,
            included.block.number(),
            mined.transaction.to(),
            mined.transaction.input(),
            mined.gas_used,
            mined.transaction.gas_limit(),
        );
    }
}

#[test]
fn between_6_and_10_percent_fail() {
    let failed = HISTORY.sent.iter().filter(|sent| sent.outcome == Outcome::Fails).count();
    let per_mille = failed * 1_000 / HISTORY.sent.len();
    assert!((60..=100).contains(&per_mille), "{per_mille} of 1000");
}

#[test]
fn the_history_has_its_size_its_spacing_and_its_end() {
    assert!((1_000..=1_002).contains(&HISTORY.sent.len()), "{}", HISTORY.sent.len());
    assert_eq!(HISTORY.chain.head().timestamp, END);
    assert_eq!(HISTORY.chain.pool_size(), 0);
    let times: Vec<u64> =
        (0..=HISTORY.chain.head().number).map(|number| HISTORY.chain.block(number).unwrap().header.timestamp).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == BLOCK_SECONDS));
    let sizes: HashSet<usize> = (5..=HISTORY.chain.head().number)
        .map(|number| HISTORY.chain.block(number).unwrap().transactions.len())
        .collect();
    assert!(sizes.contains(&0) && sizes.len() > 10, "{sizes:?}");
}

#[test]
fn every_event_of_public_chains_occurs() {
    let seen: HashSet<B256> = HISTORY.logs().filter_map(|log| log.topics().first().copied()).collect();
    for (name, topic) in PUBLIC_EVENTS {
        assert!(seen.contains(topic), "{name} never occurred");
    }
    let (transfer, approval) = (PUBLIC_EVENTS[0].1, PUBLIC_EVENTS[1].1);
    for topic in [transfer, approval] {
        assert!(occurs(topic, 3), "of a fungible token");
        assert!(occurs(topic, 4), "of a non-fungible token");
    }
}

#[test]
fn every_function_is_called_successfully() {
    let called: HashSet<[u8; 4]> = HISTORY
        .mined()
        .filter(|mined| mined.succeeded())
        .filter_map(|mined| mined.transaction.input().first_chunk().copied())
        .collect();
    let wanted = [
        (Bep20::transferCall::SIGNATURE, Bep20::transferCall::SELECTOR),
        (Bep20::approveCall::SIGNATURE, Bep20::approveCall::SELECTOR),
        (Bep20::transferFromCall::SIGNATURE, Bep20::transferFromCall::SELECTOR),
        (Bep20::mintCall::SIGNATURE, Bep20::mintCall::SELECTOR),
        (Bep20::burnCall::SIGNATURE, Bep20::burnCall::SELECTOR),
        (WrappedCoin::depositCall::SIGNATURE, WrappedCoin::depositCall::SELECTOR),
        (WrappedCoin::withdrawCall::SIGNATURE, WrappedCoin::withdrawCall::SELECTOR),
        (Collectible::mintCall::SIGNATURE, Collectible::mintCall::SELECTOR),
        (Collectible::safeTransferFromCall::SIGNATURE, Collectible::safeTransferFromCall::SELECTOR),
        (GameItems::mintCall::SIGNATURE, GameItems::mintCall::SELECTOR),
        (GameItems::mintBatchCall::SIGNATURE, GameItems::mintBatchCall::SELECTOR),
        (GameItems::burnCall::SIGNATURE, GameItems::burnCall::SELECTOR),
        (GameItems::burnBatchCall::SIGNATURE, GameItems::burnBatchCall::SELECTOR),
        (GameItems::safeTransferFromCall::SIGNATURE, GameItems::safeTransferFromCall::SELECTOR),
        (GameItems::safeBatchTransferFromCall::SIGNATURE, GameItems::safeBatchTransferFromCall::SELECTOR),
        (V2Router::swapExactTokensForTokensCall::SIGNATURE, V2Router::swapExactTokensForTokensCall::SELECTOR),
        (V2Router::swapExactETHForTokensCall::SIGNATURE, V2Router::swapExactETHForTokensCall::SELECTOR),
        (V2Router::swapExactTokensForETHCall::SIGNATURE, V2Router::swapExactTokensForETHCall::SELECTOR),
        (V2Router::addLiquidityCall::SIGNATURE, V2Router::addLiquidityCall::SELECTOR),
        (V2Router::removeLiquidityCall::SIGNATURE, V2Router::removeLiquidityCall::SELECTOR),
        (V3Pool::swapCall::SIGNATURE, V3Pool::swapCall::SELECTOR),
        (LookAlikeSwap::pretendCall::SIGNATURE, LookAlikeSwap::pretendCall::SELECTOR),
        (Nursery::createCall::SIGNATURE, Nursery::createCall::SELECTOR),
        (Nursery::create2Call::SIGNATURE, Nursery::create2Call::SELECTOR),
        (Nursery::cloneCall::SIGNATURE, Nursery::cloneCall::SELECTOR),
        (Nursery::clone2Call::SIGNATURE, Nursery::clone2Call::SELECTOR),
        (Counter::incrementCall::SIGNATURE, Counter::incrementCall::SELECTOR),
        (Vault::storeCall::SIGNATURE, Vault::storeCall::SELECTOR),
        (Vault::takeOutCall::SIGNATURE, Vault::takeOutCall::SELECTOR),
    ];
    for (name, selector) in wanted {
        assert!(called.contains(&selector), "{name} was never called");
    }
}

#[test]
fn calls_fail_with_a_message_a_custom_error_a_panic_or_out_of_gas() {
    let failed: Vec<MinedTransaction> = HISTORY.mined().filter(|mined| !mined.succeeded()).collect();
    let called: HashSet<[u8; 4]> =
        failed.iter().filter_map(|mined| mined.transaction.input().first_chunk().copied()).collect();
    let panics = [
        Failing::withAssertCall::SELECTOR,
        Failing::withOverflowCall::SELECTOR,
        Failing::withDivisionCall::SELECTOR,
        Failing::withIndexCall::SELECTOR,
    ];
    assert!(called.contains(&Failing::withMessageCall::SELECTOR));
    assert!(called.contains(&Failing::withCustomErrorCall::SELECTOR));
    assert!(panics.iter().any(|panic| called.contains(panic)));
    assert!(called.contains(&V2Router::swapExactTokensForTokensCall::SELECTOR));
    assert!(failed.iter().any(|mined| mined.gas_used == mined.transaction.gas_limit()));
    assert!(failed.iter().any(|mined| mined.transaction.is_create()), "a creation");
    assert!(failed.iter().all(|mined| mined.receipt.logs().is_empty()));
}

#[test]
fn coins_move_in_amounts_from_a_few_wei_to_beyond_64_bits() {
    let payments: Vec<MinedTransaction> =
        HISTORY.mined().filter(|mined| mined.succeeded() && mined.transaction.input().is_empty()).collect();
    let some = |what: fn(&MinedTransaction) -> bool| payments.iter().any(what);
    assert!(some(|paid| paid.transaction.value() > U256::from(u64::MAX)));
    assert!(some(|paid| !paid.transaction.value().is_zero() && paid.transaction.value() < U256::from(1_000)));
    assert!(some(|paid| paid.transaction.value().is_zero()));
    assert!(some(|paid| paid.transaction.to() == Some(paid.sender())));
}

#[test]
fn transactions_have_three_types_and_many_prices() {
    let mut types = HashMap::<TxType, usize>::new();
    let mut prices = HashSet::new();
    for mined in HISTORY.mined() {
        *types.entry(mined.transaction.tx_type()).or_default() += 1;
        prices.insert(mined.effective_gas_price);
    }
    for tx_type in [TxType::Legacy, TxType::Eip2930, TxType::Eip1559] {
        assert!(types[&tx_type] > 100, "{types:?}");
    }
    assert!(prices.len() > 500, "{}", prices.len());
}

#[test]
fn a_few_addresses_are_busy_and_many_appear_once() {
    let mut sent = HashMap::<Address, usize>::new();
    let mut received = HashMap::<Address, usize>::new();
    for mined in HISTORY.mined().filter(|mined| mined.transaction.input().is_empty()) {
        *sent.entry(mined.sender()).or_default() += 1;
        *received.entry(mined.transaction.to().unwrap_or_default()).or_default() += 1;
    }
    let (busiest, quietest) = (sent.values().max().unwrap(), sent.values().min().unwrap());
    assert!(*busiest > 5 * quietest, "{busiest} and {quietest}");
    assert!(received.values().filter(|count| **count == 1).count() > 30);
}

#[test]
fn contracts_are_created_by_transactions_and_inside_calls() {
    let directly: Vec<Address> = HISTORY
        .mined()
        .skip_while(|mined| mined.sender() == HISTORY.chain.accounts()[0].address())
        .filter(MinedTransaction::succeeded)
        .filter_map(|mined| mined.created)
        .collect();
    assert!(directly.len() > 3);
    assert!(directly.iter().all(|created| !HISTORY.chain.code(*created).is_empty()));

    let children: Vec<Address> = HISTORY
        .logs()
        .filter(|log| log.address == HISTORY.contracts.nursery)
        .map(|log| Address::from_word(log.topics()[1]))
        .collect();
    let original = HISTORY.contracts.counter.to_vec();
    let proxies = children.iter().filter(|child| {
        let code = HISTORY.chain.code(**child);
        code.len() == 45
            && code[..10] == [0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73]
            && code[10..30] == original
    });
    assert!(proxies.count() > 1);
    assert!(children.iter().any(|child| HISTORY.chain.code(*child) == HISTORY.chain.code(HISTORY.contracts.counter)));
}
