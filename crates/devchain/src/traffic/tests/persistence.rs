//! Traffic repeats itself under a seed and goes on whatever happens to the chain.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::{BlockSummary, ReorgedTransactions};

#[test]
fn the_same_seed_gives_the_same_chain() {
    let head = |seed| -> BlockSummary { Past::of(200, seed).chain.head() };
    assert_eq!(head(3), head(3));
    assert_ne!(head(3).hash, head(4).hash);
}

#[test]
fn a_step_brings_a_blocks_worth_or_nothing() {
    let mut past = Past::of(50, 5);
    let mut sizes = Vec::new();
    for _ in 0..100 {
        sizes.push(past.traffic.step().unwrap().len());
        past.chain.mine(None);
    }
    assert!(sizes.contains(&0));
    // An approval or two may come with the last activity.
    assert!(sizes.iter().all(|size| *size == 0 || (3..=17).contains(size)), "{sizes:?}");
    assert_eq!(past.chain.pool_size(), 0);
}

#[test]
fn traffic_goes_on_as_meant_after_a_reorganisation() {
    let mut past = Past::of(300, 6);
    for transactions in [ReorgedTransactions::Drop, ReorgedTransactions::Replay] {
        past.chain.reorg(5, 6, transactions).unwrap();
        past.chain.mine(None);
        for _ in 0..20 {
            let sent = past.traffic.step().unwrap();
            past.chain.mine(None);
            for sent in sent {
                let included = past.chain.receipt(sent.hash).unwrap();
                assert_eq!(included.transaction().succeeded(), sent.outcome == Outcome::Succeeds);
            }
        }
    }
}

#[test]
fn accounts_never_run_dry() {
    // So little that the larger payments soon need those who have more to help.
    let chain =
        DevChain::new(DevChainConfig { account_balance: amount::COIN * U256::from(60), ..DevChainConfig::default() });
    let mut traffic = Traffic::new(chain.clone(), 8);
    traffic.deploy().unwrap();
    for _ in 0..300 {
        let sent = traffic.step().unwrap();
        chain.mine(None);
        for sent in sent {
            let included = chain.receipt(sent.hash).unwrap();
            assert_eq!(included.transaction().succeeded(), sent.outcome == Outcome::Succeeds);
        }
    }
    for signer in chain.accounts() {
        assert!(chain.balance(signer.address()) > amount::GAS_RESERVE / U256::from(2));
    }
}

#[test]
fn there_is_no_traffic_before_the_contracts_are_there() {
    let chain = DevChain::new(DevChainConfig::default());
    let mut traffic = Traffic::new(chain, 1);
    assert!(matches!(traffic.step(), Err(TrafficError::NotDeployed)));
}

#[test]
fn a_chain_with_too_few_accounts_is_refused() {
    let chain = DevChain::new(DevChainConfig { accounts: 2, ..DevChainConfig::default() });
    let refused = Traffic::new(chain, 1).deploy().unwrap_err();
    assert!(matches!(refused, TrafficError::TooFewAccounts { accounts: 2 }));
}

#[test]
fn a_history_cannot_begin_before_the_head() {
    let mut past = Past::of(50, 2);
    let refused = past.traffic.history(&plan(50)).unwrap_err();
    assert!(matches!(refused, TrafficError::NoRoomForHistory { head: END, .. }));
}

#[tokio::test]
async fn live_traffic_mines_until_it_is_told_to_stop() {
    let past = Past::of(50, 9);
    let begin = past.chain.head();
    let cancel = CancellationToken::new();
    let mut heads = past.chain.subscribe_heads();
    let live = tokio::spawn(run(past.traffic, Duration::from_millis(5), cancel.clone()));
    tokio::time::timeout(Duration::from_secs(20), heads.wait_for(|head| head.number >= begin.number + 10))
        .await
        .unwrap()
        .unwrap();
    cancel.cancel();
    live.await.unwrap();

    let end = past.chain.head();
    let mined: usize =
        (begin.number + 1..=end.number).map(|number| past.chain.block(number).unwrap().transactions.len()).sum();
    assert!(mined >= 30, "{mined}");
}
