//! The API in the formats of other explorers: Etherscan's and Sourcify's, with requests as their clients send them, and with
//! the clients themselves.

mod bad_input;
mod compiler_site;
mod data;
mod errors;
mod etherscan;
mod jobs;
mod pages;
mod sourcify;
mod tools;
mod vyper;

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    contracts::verifier_fixture::{COIN, Case, VerifierFixture, word},
    support::{client::Client, deadline::eventually_within},
};

const VERSION: &str = "v0.8.20+commit.a1b79de6";

/// A coin, as a tool compiles it.
fn coin() -> Case {
    Case {
        version: VERSION,
        path: "src/Coin.sol",
        source: COIN.to_owned(),
        contract: "Coin",
        settings: json!({ "optimizer": { "enabled": true, "runs": 200 }, "evmVersion": "paris" }),
        arguments: word(7),
    }
}

fn standard_json(case: &Case) -> Value {
    json!({
        "language": "Solidity",
        "sources": { case.path: { "content": case.source } },
        "settings": case.settings,
    })
}

/// `GET /api` with a query; the HTTP status is always 200.
async fn ask(client: &Client, query: &str) -> Value {
    let answer = client.get(&format!("/api?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    assert!(answer.json["status"].is_string() && answer.json["message"].is_string(), "{query}: {}", answer.text);
    answer.json
}

/// The result of a query with the status 1.
async fn result(client: &Client, query: &str) -> Value {
    let mut answer = ask(client, query).await;
    assert_eq!((&answer["status"], &answer["message"]), (&json!("1"), &json!("OK")), "{query}: {answer}");
    answer["result"].take()
}

/// `POST /api` with a form.
async fn post_form(client: &Client, path: &str, fields: &[(&str, &str)]) -> Value {
    let encode = |text: &str| -> String {
        text.bytes()
            .map(
                |byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") },
            )
            .collect()
    };
    let form: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    let request = client.request("POST", path).header("Content-Type", "application/x-www-form-urlencoded");
    let answer = client.send(request.body(form.join("&"))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json
}

/// Submits a verification as forge does, and returns the id of its job.
async fn submit(fixture: &VerifierFixture, address: &str, case: &Case, source: &str) -> Value {
    let name = format!("{}:{}", case.path, case.contract);
    let fields = [
        ("module", "contract"),
        ("action", "verifysourcecode"),
        ("apikey", ""),
        ("contractaddress", address),
        ("sourceCode", source),
        ("codeformat", "solidity-standard-json-input"),
        ("contractname", &name),
        ("compilerversion", case.version),
        ("constructorArguements", &case.arguments),
        ("constructorArguments", &case.arguments),
    ];
    post_form(fixture.explorer.client(), "/api", &fields).await
}

/// Polls a verification until it ends.
async fn verdict(client: &Client, guid: &str) -> Value {
    patiently("a verdict", async || {
        let answer = ask(client, &format!("module=contract&action=checkverifystatus&guid={guid}")).await;
        (answer["result"] != "Pending in queue").then_some(answer)
    })
    .await
}

/// Waits longer than other tests do: a source that differs is compiled with many settings, and a busy machine takes a while.
async fn patiently<T>(what: &str, poll: impl AsyncFnMut() -> Option<T>) -> T {
    eventually_within(Duration::from_secs(400), what, poll).await
}
