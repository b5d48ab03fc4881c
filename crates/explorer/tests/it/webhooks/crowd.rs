//! Many receivers, half of them up to no good: the others do not notice.

use std::time::{Duration, Instant};

use alloy_primitives::{TxKind, U256};
use serde_json::json;

use super::{launch, send};
use crate::support::{
    DevNode, eventually,
    receiver::{Manner, Receiver},
    stage::plain,
};

/// The figures of docs/benchmarks.md are those of a larger crowd, over more rounds.
fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

fn manner_of(place: usize) -> Option<Manner> {
    match place % 10 {
        0..3 => Some(Manner::Hang),
        3 => Some(Manner::Drip),
        4 => Some(Manner::Answer(500)),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_answer_hear_within_a_second_whatever_the_others_do() {
    let crowd = number("EXPLORER_TEST_CROWD").unwrap_or(100);
    let rounds = number("EXPLORER_TEST_CROWD_ROUNDS").unwrap_or(8);
    let node = DevNode::start().await;
    let explorer = launch(&node.ws_url()).start().await;
    node.wait_for(&explorer).await;
    let receiver = Receiver::start().await;
    let client = explorer.client().with_connection_kept();
    let bob = node.account(1);
    let mut healthy = Vec::new();
    for place in 0..crowd {
        let path = format!("/{place}");
        match manner_of(place) {
            Some(manner) => receiver.behave(&path, manner),
            None => healthy.push(path.clone()),
        }
        let owner = format!("0x{:040x}", place / 20 + 1);
        let body = json!({ "ownerAddress": owner, "url": receiver.url(&path), "watchAddress": plain(bob) });
        assert_eq!(send(&client, "POST", "/api/v1/webhooks", Some(body)).await.status, 201);
    }
    let mut delays = Vec::new();
    let mut first_round = Vec::new();
    for round in 0..rounds {
        node.chain.send(0, TxKind::Call(bob), U256::from(round), []).unwrap();
        let block = node.chain.mine(None);
        let committed = eventually("the commit", async || {
            (explorer.json("/health").await["tip"]["number"] == block.number).then(Instant::now)
        })
        .await;
        let told = eventually("the healthy ones", async || {
            let told: Vec<_> = receiver
                .all()
                .into_iter()
                .filter(|message| message.body.contains(&format!("\"blockNumber\":{},", block.number)))
                .filter(|message| healthy.contains(&message.path))
                .collect();
            (told.len() == healthy.len()).then_some(told)
        })
        .await;
        let into = if round == 0 { &mut first_round } else { &mut delays };
        into.extend(told.iter().map(|message| message.at.saturating_duration_since(committed)));
    }
    delays.sort_unstable();
    first_round.sort_unstable();
    let at = |delays: &[Duration], share: usize| delays[(delays.len() - 1) * share / 100];
    println!(
        "{crowd} receivers, {} of them healthy: median {:?}, p99 {:?}, worst {:?}; first message ever: median {:?}, worst {:?}",
        healthy.len(),
        at(&delays, 50),
        at(&delays, 99),
        at(&delays, 100),
        at(&first_round, 50),
        at(&first_round, 100),
    );
    assert!(at(&delays, 99) < Duration::from_secs(1), "p99 {:?}", at(&delays, 99));
}
