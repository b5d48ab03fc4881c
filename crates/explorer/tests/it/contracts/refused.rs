//! Wrong sources, and requests that cannot be verified at all.

use serde_json::json;

use super::verifier_fixture::{COIN, Case, VerifierFixture, word};
use crate::support::{Anvil, Launch};

const VERSION: &str = "v0.8.20+commit.a1b79de6";

#[tokio::test]
async fn different_code_is_rejected_and_a_partial_match_does_not_replace_an_exact_one() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.compile_and_deploy(&Case::coin(VERSION)).await;

    let changed = COIN.replace("amounts[i] > best", "amounts[i] < best");
    let answer = fixture.verify(&address, VERSION, &changed).await;
    assert_eq!((&answer["success"], &answer["match"]), (&json!(false), &json!(null)), "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("Coin") && message.contains("differs from byte"), "{message}");
    assert!(message.contains("optimizer with 200 runs"), "the closest settings are reported: {message}");
    assert_eq!(fixture.explorer.get(&format!("/api/v1/contracts/{address}")).await.status, 404);

    let longer = COIN.replace("return true;", "total += 1; return true;");
    let answer = fixture.verify(&address, VERSION, &longer).await;
    assert!(answer["message"].as_str().unwrap().contains("bytes long"), "{answer}");

    let answer = fixture.verify(&address, VERSION, &COIN.replace("// A coin.", "// No coin.")).await;
    assert_eq!(answer["match"], "partial", "{answer}");
    let answer = fixture.verify(&address, VERSION, COIN).await;
    assert_eq!(answer["match"], "exact", "{answer}");
    let answer = fixture.verify(&address, VERSION, &COIN.replace("// A coin.", "// Evil.")).await;
    assert_eq!(answer["match"], "partial", "{answer}");
    let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
    assert_eq!((&contract["match"], &contract["sources"][0]["content"]), (&json!("exact"), &json!(COIN)));

    // Constructor arguments must match the chain.
    let mut body = json!({ "address": address, "sourceCode": COIN, "compilerVersion": VERSION,
        "constructorArguments": word(8) });
    let answer = fixture.post("/api/v1/verify", &body).await.ok();
    assert!(answer["message"].as_str().unwrap().contains("constructor arguments"), "{answer}");
    body["constructorArguments"] = json!(format!("0x{}", word(7)));
    assert_eq!(fixture.post("/api/v1/verify", &body).await.ok()["success"], true);

    // With the names and values of Etherscan's API. They are hints: the metadata hash in the code decides.
    for (used, runs) in [("1", json!("200")), ("0", json!(5))] {
        let hints = json!({ "optimizationUsed": used, "runs": runs, "evmVersion": "default", "contractName": "Coin" });
        body.as_object_mut().unwrap().extend(hints.as_object().unwrap().clone());
        let answer = fixture.post("/api/v1/verify", &body).await.ok();
        assert_eq!(answer["match"], "exact", "{answer}");
    }
}

#[tokio::test]
async fn requests_that_cannot_be_verified_are_rejected_before_compiling() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.compile_and_deploy(&Case::coin(VERSION)).await;

    let answer = fixture.verify(&address, "0.8.37", COIN).await;
    assert_eq!(answer["message"], "The code on the chain was made by compiler 0.8.20, not by 0.8.37.");

    let verify = async |address: &str, version: &str, source: &str| {
        let body = json!({ "address": address, "sourceCode": source, "compilerVersion": version });
        fixture.post("/api/v1/verify", &body).await
    };
    let no_code = verify(&fixture.from, VERSION, COIN).await;
    assert_eq!((no_code.status, &no_code.json["code"]), (404, &json!("code_not_found")));
    let said = [&no_code.json["success"], &no_code.json["address"]];
    assert_eq!(said, [&json!(false), &json!(fixture.from.to_lowercase())], "{}", no_code.json);
    assert!(no_code.json["message"].as_str().unwrap().starts_with("no bytecode is indexed"), "{}", no_code.json);
    for (version, expected_text) in [
        ("0.8.20+commit.11111111", "0.8.20+commit.a1b79de6"),
        ("latest", "must be the version"),
        ("0.4.10", "older than 0.4.11"),
    ] {
        let answer = verify(&address, version, COIN).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("compilerVersion")), "{}", answer.json);
        assert!(answer.json["detail"].as_str().unwrap().contains(expected_text), "{}", answer.json);
    }
    let broken = verify(&address, VERSION, "contract A { function }").await.ok();
    let message = broken["message"].as_str().unwrap();
    assert!(message.starts_with("The source does not compile: ParserError"), "{message}");
    let empty = verify(&address, VERSION, "// nothing").await.ok();
    assert_eq!(empty["message"], "The source defines no contract.");
    let abstracts = verify(&address, VERSION, "abstract contract Coin { function f() public virtual; }").await.ok();
    assert_eq!(abstracts["success"], false, "{abstracts}");
}

#[tokio::test]
async fn an_unknown_compiler_version_gets_similar_versions() {
    let anvil = Anvil::start().await;
    let launch = Launch::run(anvil.url()).argument("--compiler-source", super::verifier_fixture::compilers().display());
    let fixture = VerifierFixture { explorer: launch.start().await, from: anvil.accounts().await.remove(0), anvil };
    // Code without metadata of a compiler.
    let address = fixture.deploy("6001600c60003960016000f300").await;
    let body = json!({ "address": address, "sourceCode": "contract A {}", "compilerVersion": "0.8.21" });
    let answer = fixture.post("/api/v1/verify", &body).await;
    assert_eq!((answer.status, &answer.json["field"]), (400, &json!("compilerVersion")), "{}", answer.json);
    assert!(
        answer.json["detail"].as_str().unwrap().contains("the nearest are 0.8.20, 0.8.37, 0.7.6"),
        "{}",
        answer.json
    );
}

#[tokio::test]
async fn without_node_js_only_verification_fails_and_says_what_to_install() {
    let anvil = Anvil::start().await;
    let empty = tempfile::tempdir().unwrap();
    let launch = Launch::run(anvil.url())
        .argument("--compiler-source", super::verifier_fixture::compilers().display())
        .variable("PATH", empty.path().display());
    let fixture = VerifierFixture { explorer: launch.start().await, from: anvil.accounts().await.remove(0), anvil };
    let address = fixture.deploy("6001600c60003960016000f300").await;
    let body = json!({ "address": address, "sourceCode": "contract A {}", "compilerVersion": "0.8.20" });
    let answer = fixture.post("/api/v1/verify", &body).await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &json!("compiler_unavailable")), "{}", answer.json);
    assert!(answer.json["detail"].as_str().unwrap().contains("install Node.js"), "{}", answer.json);
    assert_eq!(answer.header("retry-after"), "5");
    assert_eq!(fixture.explorer.json("/api/v1/contracts").await["total"], 0);
    assert_eq!(fixture.explorer.get("/health").await.status, 200);
}
