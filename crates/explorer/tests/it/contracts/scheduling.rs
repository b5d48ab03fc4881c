//! Fair scheduling of verifications among clients.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::{
    hostile::{ONE_BYTE_CODE, client_ip, endless, join_all},
    verifier_fixture::{COIN, Case, VerifierFixture},
};
use crate::support::permits;

const VERSION: &str = "0.8.20";

#[tokio::test]
async fn verifications_are_scheduled_fairly_among_clients() {
    permits::timely().await;
    let fixture = VerifierFixture::start().await;
    let mut addresses = Vec::new();
    for _ in 0..4 {
        addresses.push(fixture.deploy(ONE_BYTE_CODE).await);
    }
    let honest = fixture.compile_and_deploy(&Case::coin(VERSION)).await;
    let body =
        |address: &str, source: &str| json!({ "address": address, "sourceCode": source, "compilerVersion": VERSION });
    // Load the compiler first, as on a running server.
    fixture.post_from(&client_ip(9), "/api/v1/verify", &body(&addresses[0], "contract A {}")).await.ok();

    let answered = AtomicUsize::new(0);
    let attack = async |site: usize, address: &str| {
        // Equal requests would share one verification.
        let source = format!("{}// {site}", endless());
        let answer = fixture.post_from(&client_ip(site), "/api/v1/verify", &body(address, &source)).await;
        answered.fetch_add(1, Ordering::SeqCst);
        answer
    };
    let attackers = async {
        let jobs = [0, 1].into_iter().flat_map(|site| addresses[..3].iter().map(move |address| (site, address)));
        join_all(jobs.map(|(site, address)| attack(site, address)).collect()).await
    };
    let others = async {
        // The compiler was loaded by the first.
        fixture.wait_for_queued(1 + 6).await;
        let fourth = fixture.post_from(&client_ip(0), "/api/v1/verify", &body(&addresses[3], "contract A {}")).await;
        assert_eq!((fourth.status, &fourth.json["code"]), (429, &json!("too_many_verifications")), "{}", fourth.json);
        assert!(fourth.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0));

        let answer = fixture.post_from(&client_ip(2), "/api/v1/verify", &body(&honest, COIN)).await.ok();
        assert_eq!(answer["match"], "exact", "{answer}");
        // Each of their verifications runs for half a minute. In a FIFO queue, this one would wait for four of them.
        let before = answered.load(Ordering::SeqCst);
        assert!(before <= 2, "{before} of six that never end were answered before it");
    };
    tokio::select! {
        _ = attackers => panic!("the others end first"),
        () = others => {}
    }
}
