//! Fifty attackers in everything at once, beside honest clients.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use super::Scene;
use crate::support::permits;

/// What an honest client asks for, once each.
const HONEST: [&str; 5] =
    ["/api/v1/stats", "/api/v1/blocks", "/blocks", "/api?module=gastracker&action=gasoracle", "/sourcify/chains"];
/// Machines are noisy: below this, it is not the attack.
const FLOOR: Duration = Duration::from_millis(400);

/// The slowest of a hundred requests, but for the slowest one.
async fn p99(scene: &Scene, first_client: u16) -> Duration {
    let mut times = Vec::new();
    for number in 0..20 {
        let client = scene.client(first_client + number);
        for path in HONEST {
            let started = Instant::now();
            let answer = client.get(path).await;
            times.push(started.elapsed());
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            assert!(!answer.text.contains("rate limit"), "an honest request was refused: {}", answer.text);
        }
    }
    times.sort_unstable();
    times[times.len() - 2]
}

#[tokio::test]
async fn honest_clients_notice_little_of_fifty_attackers() {
    permits::busy().await;
    let scene = Arc::new(Scene::with(2_500).await);
    let quiet = p99(&scene, 2_000).await;
    let memory = scene.explorer.resident_megabytes();
    let (is_over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let account = format!("{:#x}", scene.chain.account(1));
    let topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let attacks = [
        format!("/api?module=account&action=txlist&address={account}"),
        format!("/api?module=account&action=tokentx&address={account}"),
        format!("/api?module=logs&action=getLogs&topic0={topic}&topic1={topic}&topic0_1_opr=or"),
        format!("/api?module=contract&action=checkproxyverification&guid={}", &account[2..]),
        "/api?module=proxy&action=eth_call&data=0x5b600056&gas=0xffffffffffff".to_owned(),
        "/api/v1/openapi.json".to_owned(),
        format!("/address/{account}"),
    ];
    let attackers: Vec<_> = (0..50)
        .map(|number| {
            let client = scene.client(3_000 + number);
            let (is_over, sent) = (Arc::clone(&is_over), Arc::clone(&sent));
            let path = attacks[usize::from(number) % attacks.len()].clone();
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    client.get(&path).await;
                    sent.fetch_add(1, Ordering::Relaxed);
                    // The attackers share the machine with what they attack.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let attacked = p99(&scene, 4_000).await;
    is_over.store(true, Ordering::Relaxed);
    futures::future::join_all(attackers).await;
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent > 100, "{sent} requests are no attack");
    assert!(attacked <= (3 * quiet).max(FLOOR), "{attacked:?}, and {quiet:?} without the attack of {sent} requests");
    let grown = scene.explorer.resident_megabytes().saturating_sub(memory);
    assert!(grown < 300, "{grown} MB more");
}
