//! Verification jobs.

use std::time::Duration;

use serde_json::{Value, json};

use super::{VERSION, coin, patiently, standard_json, submit, verdict};
use crate::{
    contracts::{
        hostile::{ONE_BYTE_CODE, endless},
        verifier_fixture::{COIN, VerifierFixture, compilers},
    },
    support::{Launch, client::Answer, eventually},
};

async fn post_async(fixture: &VerifierFixture, site: &str, body: &Value) -> Answer {
    let client = fixture.explorer.client();
    let request = client.request("POST", "/api/v1/verify").header("Content-Type", "application/json");
    let request = request.header("Prefer", "respond-async").header("X-Forwarded-For", site);
    client.send(request.body(body.to_string())).await
}

#[tokio::test]
async fn a_job_is_polled_and_kept_across_restarts() {
    let fixture = VerifierFixture::start().await;
    let case = coin();
    let address = fixture.compile_and_deploy(&case).await;
    let body = json!({ "address": address, "sourceCode": COIN, "compilerVersion": VERSION });

    let accepted = post_async(&fixture, "203.0.113.1", &body).await;
    assert_eq!(accepted.status, 202, "{}", accepted.text);
    assert_eq!(accepted.header("preference-applied"), "respond-async");
    let id = accepted.json["id"].as_str().unwrap().to_owned();
    let location = format!("/api/v1/verify/jobs/{id}");
    assert_eq!(accepted.header("location"), location);
    assert_eq!(accepted.json["address"], address);
    let finished = patiently("end of the job", async || {
        let job = fixture.explorer.json(&location).await;
        (job["status"] != "pending").then_some(job)
    })
    .await;
    assert_eq!(
        (&finished["status"], &finished["answer"]["match"]),
        (&json!("finished"), &json!("exact")),
        "{finished}"
    );
    assert_eq!((&finished["waitsFor"], &finished["failure"]), (&Value::Null, &Value::Null));
    assert!(finished["finishedAt"].as_str() >= finished["submittedAt"].as_str(), "{finished}");

    // The same job in the other formats.
    let client = fixture.explorer.client();
    assert_eq!(verdict(client, &id).await["result"], "Pass - Verified");

    let VerifierFixture { anvil, explorer, .. } = fixture;
    let (_, data) = explorer.stop().await;
    let explorer =
        Launch::run(anvil.url()).argument("--compiler-source", compilers().display()).on(&data).start().await;
    assert_eq!(explorer.json(&location).await, finished);
    let unknown = explorer.get("/api/v1/verify/jobs/9f4c2a77-52c1-4d0e-8a4e-0d3f8a0b6c11").await;
    assert_eq!((unknown.status, &unknown.json["code"]), (404, &json!("job_not_found")));
    assert_eq!(explorer.get("/api/v1/verify/jobs/7").await.status, 400);
}

#[tokio::test]
async fn an_equal_request_of_another_client_joins_the_job() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    // It does not end while the test runs.
    let body = json!({ "address": address, "sourceCode": endless(), "compilerVersion": "0.8.20" });
    let [first, equal] =
        [post_async(&fixture, "203.0.113.1", &body).await, post_async(&fixture, "203.0.113.2", &body).await];
    for accepted in [&first, &equal] {
        assert_eq!((accepted.status, &accepted.json["status"]), (202, &json!("pending")), "{}", accepted.text);
        assert!(accepted.json["waitsFor"].is_string(), "{}", accepted.text);
    }
    assert_eq!(first.json["id"], equal.json["id"]);
}

#[tokio::test]
async fn a_job_continues_when_its_client_leaves() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    let body = |source: &str| json!({ "address": address, "sourceCode": source, "compilerVersion": "0.8.20" });
    // One client verifies an address once at a time, so its second request tells whether the first one runs.
    let is_running = async || {
        let answer = fixture.post_from("203.0.113.1", "/api/v1/verify", &body("contract A {")).await;
        (answer.json["code"] == "verification_under_way").then_some(())
    };
    let endless = body(&endless());
    let request = async {
        // Refused while the question whether it runs is itself a verification.
        while fixture.post_from("203.0.113.1", "/api/v1/verify", &endless).await.status == 409 {}
    };
    tokio::select! {
        () = request => panic!("it ended"),
        () = eventually("the job", is_running) => {}
    }
    // The connection is closed, and the compilation takes half a minute.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(is_running().await.is_some(), "it was cancelled");
}

#[tokio::test]
async fn a_job_that_a_crash_interrupts_says_so() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    let body = json!({ "address": address, "sourceCode": endless(), "compilerVersion": "0.8.20" });
    let accepted = post_async(&fixture, "203.0.113.1", &body).await;
    assert_eq!((accepted.status, &accepted.json["status"]), (202, &json!("pending")), "{}", accepted.text);
    let id = accepted.json["id"].as_str().unwrap().to_owned();
    let VerifierFixture { anvil, explorer, .. } = fixture;
    let data = explorer.kill();
    let explorer = Launch::run(anvil.url()).on(&data).start().await;
    let job = explorer.json(&format!("/api/v1/verify/jobs/{id}")).await;
    assert_eq!(
        (&job["status"], &job["failure"]["code"]),
        (&json!("failed"), &json!("verification_interrupted")),
        "{job}"
    );
    let failed = verdict(explorer.client(), &id).await;
    assert!(
        failed["result"].as_str().unwrap().starts_with("Fail - Unable to verify. The server was restarted"),
        "{failed}"
    );
}

/// All doors lead to the same jobs.
#[tokio::test]
async fn a_job_of_etherscans_format_is_polled_in_ours() {
    let fixture = VerifierFixture::start().await;
    let case = coin();
    let address = fixture.compile_and_deploy(&case).await;
    let submitted = submit(&fixture, &address, &case, &standard_json(&case).to_string()).await;
    let id = submitted["result"].as_str().unwrap();
    let job = patiently("end of the job", async || {
        let job = fixture.explorer.json(&format!("/api/v1/verify/jobs/{id}")).await;
        (job["status"] == "finished").then_some(job)
    })
    .await;
    assert_eq!(job["answer"]["contractName"], "Coin", "{job}");
}
