use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, TxKind, U256};
use devchain::{DevChain, DevChainConfig, ReorgedTransactions, TransactionType};
use tokio_util::sync::CancellationToken;

use crate::node::{ether, keeper, word};

/// A history with all kinds of transactions and a reorg.
fn history(seed: u64, transactions: u64) -> (DevChain, Vec<B256>) {
    let chain = DevChain::new(DevChainConfig { seed, accounts: 40, ..DevChainConfig::default() });
    let created = chain.send(0, TxKind::Create, U256::ZERO, keeper()).unwrap();
    chain.mine(None);
    let contract = chain.receipt(created).unwrap().transaction().created.unwrap();
    for index in 0..transactions {
        let from = usize::try_from(index * 7 % 40).unwrap();
        let draft = chain.draft(from).unwrap();
        let receiver = Address::from_word(B256::from(U256::from(index % 500 + 1_000)));
        match index % 4 {
            0 => draft.to(contract).data(word(index)),
            1 => draft.to(receiver).value(ether(1) / U256::from(index + 1)),
            2 => draft.to(receiver).value(U256::from(index)).tx_type(TransactionType::Legacy),
            _ => draft.to(contract),
        }
        .submit()
        .unwrap();
        if index % 10 == 9 {
            chain.mine(None);
        }
    }
    chain.reorg(5, 4, ReorgedTransactions::Replay).unwrap();
    chain.mine(Some(1_800_000_000));
    let hashes = (0..=chain.head().number).map(|number| chain.block(number).unwrap().hash()).collect();
    (chain, hashes)
}

#[test]
fn the_same_seed_and_calls_give_the_same_chain() {
    assert_eq!(history(3, 100).1, history(3, 100).1);
}

#[test]
fn another_seed_gives_another_chain() {
    assert_ne!(history(3, 60).1, history(4, 60).1);
}

#[test]
fn three_thousand_transactions_take_a_few_seconds() {
    let start = Instant::now();
    let (chain, _) = history(1, 3_000);
    let elapsed = start.elapsed();
    println!("3,000 transactions in {} blocks: {elapsed:?}", chain.head().number);
    // Far above the usual time, so that only a change in complexity fails on a busy machine.
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
}

#[tokio::test]
async fn interval_mining_stops_when_cancelled() {
    let chain = DevChain::new(DevChainConfig::default());
    let mut heads = chain.subscribe_heads();
    let stop = CancellationToken::new();
    let mining = chain.mine_every(Duration::from_millis(5), stop.clone());
    heads.wait_for(|head| head.number >= 3).await.unwrap();
    stop.cancel();
    mining.await.unwrap();
    let head = chain.head();
    assert!(head.timestamp > 1_700_000_003, "wall-clock time is used");
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(chain.head(), head);
}
