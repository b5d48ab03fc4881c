//! Messages for requests that cannot succeed.

use serde_json::json;

use super::verifier_fixture::{COIN, Case, VerifierFixture, as_word, word};

const VERSION: &str = "0.8.20";

async fn coin(fixture: &VerifierFixture) -> String {
    let case = Case {
        version: VERSION,
        path: "Coin.sol",
        source: COIN.to_owned(),
        contract: "Coin",
        settings: json!({}),
        arguments: word(1),
    };
    fixture.compile_and_deploy(&case).await
}

#[tokio::test]
async fn a_minimal_proxy_is_rejected_with_its_target_before_compiling() {
    let fixture = VerifierFixture::start().await;
    let target = coin(&fixture).await;
    let digits = &as_word(&target)[24..];
    for code in [
        format!("3d602d80600a3d3981f3363d3d373d3d3d363d73{digits}5af43d82803e903d91602b57fd5bf3"),
        // With PUSH0, as Solady writes it.
        format!("602c8060095f395ff3365f5f375f5f365f73{digits}5af43d5f5f3e5f3d91602a57fd5bf3"),
    ] {
        let clone = fixture.deploy(&code).await;
        // The compiler is not even looked up.
        let answer = fixture.verify(&clone, "0.8.99", COIN).await;
        let message = answer["message"].as_str().unwrap();
        assert_eq!(answer["success"], false, "{message}");
        assert!(message.contains("minimal proxy") && message.contains(&target), "{message}");
    }
}

#[tokio::test]
async fn quoted_request_text_is_short_and_a_lone_surrogate_is_reported() {
    let fixture = VerifierFixture::start().await;
    let address = coin(&fixture).await;
    let name = "N".repeat(100_000);
    let body = json!({ "address": address, "sourceCode": COIN, "compilerVersion": VERSION, "contractName": name });
    let answer = fixture.post("/api/v1/verify", &body).await.ok();
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("no contract named NNN") && message.len() < 200, "{} characters", message.len());

    let long = format!("contract {name} {{ uint256 public x; }}");
    let answer = fixture.verify(&address, VERSION, &long).await;
    assert!(answer["message"].as_str().unwrap().len() < 1_000, "{answer}");

    let body = format!(r#"{{"address":"{address}","sourceCode":"\ud800","compilerVersion":"{VERSION}"}}"#);
    let client = fixture.explorer.client();
    let request = client.request("POST", "/api/v1/verify").header("Content-Type", "application/json");
    let answer = client.send(request.body(body)).await;
    assert_eq!((answer.status, &answer.json["field"]), (400, &json!("sourceCode")), "{}", answer.json);
    let detail = answer.json["detail"].as_str().unwrap();
    assert!(detail.contains("lone surrogate"), "{detail}");
}
