//! Addresses that fill the queue of verifications.

use serde_json::{Value, json};

use crate::{
    contracts::{
        hostile::{ONE_BYTE_CODE, client_ip, endless},
        verifier_fixture::{COIN, Case, VerifierFixture},
    },
    support::{client::Answer, permits},
};

const VERSION: &str = "0.8.20";

async fn submit(fixture: &VerifierFixture, site: usize, body: &Value) -> Answer {
    let client = fixture.explorer.client();
    let request = client.request("POST", "/api/v1/verify").header("Content-Type", "application/json");
    let request = request.header("Prefer", "respond-async").header("X-Forwarded-For", client_ip(site));
    client.send(request.body(body.to_string())).await
}

#[tokio::test]
async fn addresses_that_fill_the_queue_of_verifications_do_not_shut_out_another() {
    permits::busy().await;
    let fixture = VerifierFixture::start().await;
    // One verification of a contract at a time is all that an address may have.
    let mut targets = Vec::new();
    for _ in 0..3 {
        targets.push(fixture.deploy(ONE_BYTE_CODE).await);
    }
    let honest = fixture.compile_and_deploy(&Case::coin(VERSION)).await;
    let body =
        |address: &str, source: &str| json!({ "address": address, "sourceCode": source, "compilerVersion": VERSION });
    let (mut accepted, mut refused) = (0, 0);
    for site in 0..30 {
        for target in &targets {
            // Equal requests would share one verification.
            let source = format!("{}// {site}", endless());
            match submit(&fixture, site, &body(target, &source)).await.status {
                202 => accepted += 1,
                _ => refused += 1,
            }
        }
    }
    assert!(accepted >= 60 && refused > 0, "{accepted} and {refused}: the queue is not full");
    for site in 100..105 {
        let answer = submit(&fixture, site, &body(&honest, COIN)).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
    }
}
