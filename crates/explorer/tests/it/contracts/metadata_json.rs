//! The metadata.json of a compiler submitted as source code.

use alloy_primitives::keccak256;
use serde_json::{Value, json};

use super::verifier_fixture::{VerifierFixture, code_of, compile, word};

const VERSION: &str = "0.8.20";
const BASE: &str = "pragma solidity ^0.8.0;\nabstract contract Base { uint256 public x; }\n";
const MAIN: &str = "pragma solidity ^0.8.0;\nimport \"base/Base.sol\";\n\
    contract Main is Base { constructor(uint256 y) { x = y; } }\ncontract Twin is Base { constructor(uint256 y) { x = y; } }\n";

/// Settings that no search finds: a remapping and optimizer details.
async fn compiled(literal: bool) -> (String, Value) {
    let input = json!({
        "language": "Solidity",
        "sources": { "lib/base/src/Base.sol": { "content": BASE }, "src/Main.sol": { "content": MAIN } },
        "settings": {
            "remappings": ["base/=lib/base/src/"],
            "optimizer": { "enabled": true, "runs": 321, "details": { "yul": false } },
            "evmVersion": "london",
            "metadata": { "useLiteralContent": literal },
            "outputSelection": { "*": { "*": ["evm.bytecode.object", "metadata"] } },
        },
    });
    let output = compile(VERSION, vec![input]).await.remove(0);
    let metadata = output["contracts"]["src/Main.sol"]["Twin"]["metadata"].as_str().unwrap();
    (code_of(&output, "src/Main.sol", "Twin"), serde_json::from_str(metadata).unwrap())
}

#[tokio::test]
async fn a_metadata_json_with_its_sources_is_an_exact_match_in_every_form() {
    let fixture = VerifierFixture::start().await;
    let (code, literal) = compiled(true).await;
    let (other_code, hashed) = compiled(false).await;
    let files = json!({ "Base.sol": BASE, "Main.sol": MAIN.replace('\n', "\r\n") });
    for (code, form) in [
        (&code, literal),
        (
            &other_code,
            json!({ "metadata.json": hashed, "lib/base/src/Base.sol": { "content": BASE }, "src/Main.sol": { "content": MAIN } }),
        ),
        (&other_code, json!({ "metadata.json": hashed.to_string(), "files": files })),
    ] {
        let address = fixture.deploy(&format!("{code}{}", word(5))).await;
        let answer = fixture.verify(&address, VERSION, &form.to_string()).await;
        assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("Twin")), "{form}: {answer}");
        let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
        assert_eq!(contract["settings"]["optimizer"]["details"]["yul"], false, "{contract}");
    }
}

#[tokio::test]
async fn missing_sources_of_a_metadata_json_are_listed_with_their_hashes() {
    let fixture = VerifierFixture::start().await;
    let (code, metadata) = compiled(false).await;
    let address = fixture.deploy(&format!("{code}{}", word(5))).await;
    let form = json!({ "metadata.json": metadata, "src/Main.sol": { "content": MAIN } });
    for (form, lacking) in [(metadata.clone(), vec![("src/Main.sol", MAIN)]), (form, vec![])] {
        let body = json!({ "address": address, "sourceCode": form.to_string(), "compilerVersion": VERSION });
        let answer = fixture.post("/api/v1/verify", &body).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("sourceCode")), "{}", answer.json);
        let detail = answer.json["detail"].as_str().unwrap();
        for (path, content) in lacking.into_iter().chain([("lib/base/src/Base.sol", BASE)]) {
            assert!(detail.contains(&format!("{path} (keccak256 {:#x})", keccak256(content))), "{detail}");
        }
    }
}
