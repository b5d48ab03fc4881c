//! Traffic is deterministic for a seed, and continues after reorgs.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::{BlockSummary, ReorgedTransactions};

#[test]
fn the_same_seed_gives_the_same_chain() {
    let head = |seed| -> BlockSummary { History::of(200, seed).chain.head() };
    assert_eq!(head(3), head(3));
    assert_ne!(head(3).hash, head(4).hash);
}

#[test]
fn a_step_submits_three_to_fifteen_transactions_or_none() {
    let mut history = History::of(50, 5);
    let mut sizes = Vec::new();
    for _ in 0..100 {
        sizes.push(history.traffic.step().unwrap().len());
        history.chain.mine(None);
    }
    assert!(sizes.contains(&0));
    // The last activity may add one or two approvals.
    assert!(sizes.iter().all(|size| *size == 0 || (3..=17).contains(size)), "{sizes:?}");
    assert_eq!(history.chain.pool_size(), 0);
}

#[test]
fn traffic_continues_as_intended_after_a_reorg() {
    let mut history = History::of(300, 6);
    for transactions in [ReorgedTransactions::Drop, ReorgedTransactions::Replay] {
        history.chain.reorg(5, 6, transactions).unwrap();
        history.chain.mine(None);
        for _ in 0..20 {
            let sent = history.traffic.step().unwrap();
            history.chain.mine(None);
            for sent in sent {
                let included = history.chain.receipt(sent.hash).unwrap();
                assert_eq!(included.transaction().succeeded(), sent.outcome == Outcome::Succeeds);
            }
        }
    }
}

#[test]
fn accounts_never_run_out_of_coins() {
    // So little that large payments soon need a top-up.
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
fn there_is_no_traffic_before_the_deployment() {
    let chain = DevChain::new(DevChainConfig::default());
    let mut traffic = Traffic::new(chain, 1);
    assert!(matches!(traffic.step(), Err(TrafficError::NotDeployed)));
}

#[test]
fn a_chain_with_too_few_accounts_is_rejected() {
    let chain = DevChain::new(DevChainConfig { accounts: 2, ..DevChainConfig::default() });
    let refused = Traffic::new(chain, 1).deploy().unwrap_err();
    assert!(matches!(refused, TrafficError::TooFewAccounts { accounts: 2 }));
}

#[test]
fn a_history_cannot_start_before_the_head() {
    let mut history = History::of(50, 2);
    let refused = history.traffic.history(&plan(50)).unwrap_err();
    assert!(matches!(refused, TrafficError::NoRoomForHistory { head: END, .. }));
}

#[tokio::test]
async fn live_traffic_mines_until_it_is_cancelled() {
    let history = History::of(50, 9);
    let begin = history.chain.head();
    let cancel = CancellationToken::new();
    let mut heads = history.chain.subscribe_heads();
    let live = tokio::spawn(run(history.traffic, Duration::from_millis(5), cancel.clone()));
    tokio::time::timeout(Duration::from_secs(20), heads.wait_for(|head| head.number >= begin.number + 10))
        .await
        .unwrap()
        .unwrap();
    cancel.cancel();
    live.await.unwrap();

    let end = history.chain.head();
    let mined: usize =
        (begin.number + 1..=end.number).map(|number| history.chain.block(number).unwrap().transactions.len()).sum();
    assert!(mined >= 30, "{mined}");
}
