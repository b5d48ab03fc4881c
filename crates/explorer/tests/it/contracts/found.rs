//! Contracts of old and new compilers with various settings are verified from the source alone.

use serde_json::{Value, json};

use super::verifier_fixture::{COIN, Case, VerifierFixture, code_of, compile, input, short, word};

fn coin(version: &'static str, path: &'static str, settings: Value) -> Case {
    Case { version, path, source: COIN.to_owned(), contract: "Coin", settings, arguments: word(1_000) }
}

fn optimizer(runs: u64) -> Value {
    json!({ "optimizer": { "enabled": true, "runs": runs } })
}

fn with(mut settings: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    settings
}

/// Deploys all cases of one compiler and verifies each from its source alone.
async fn verify_all(version: &'static str, cases: Vec<(Case, &str)>) {
    let fixture = VerifierFixture::start().await;
    let inputs = cases.iter().map(|(case, _)| input(case.path, &case.source, &case.settings)).collect();
    let outputs = compile(short(version), inputs).await;
    for ((case, expected), output) in cases.iter().zip(&outputs) {
        let code = code_of(output, case.path, case.contract);
        let address = fixture.deploy(&format!("{code}{}", case.arguments)).await;
        println!("{version}: {:.2} s: the bare compilation", output["seconds"].as_f64().unwrap());
        let answer = fixture.verify(&address, version, &case.source).await;
        let context = format!("{} {}: {answer}", case.path, case.settings);
        assert_eq!(answer["success"], true, "{context}");
        assert_eq!(answer["match"], *expected, "{context}");
        assert_eq!(answer["contractName"], case.contract, "{context}");
        assert_eq!(answer["runtimeMatch"], *expected, "{context}");
        assert_eq!(answer["creationMatch"], *expected, "{context}");

        let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
        assert_eq!(contract["constructorArguments"], format!("0x{}", case.arguments), "{context}");
        assert!(contract["compilerVersion"].as_str().unwrap().starts_with(short(version)), "{contract}");
        if *expected == "exact" {
            assert_eq!(contract["file"], case.path, "the very name of the file is found: {context}");
            let optimizer = &contract["settings"]["optimizer"];
            if case.settings["optimizer"]["enabled"] == true {
                assert_eq!(*optimizer, case.settings["optimizer"], "{context}");
            }
        }
        assert_eq!(fixture.result(&address, "total", json!([])).await, "1000");
    }
}

#[tokio::test]
async fn contracts_of_solc_0_4_26_are_verified_from_the_source_alone() {
    let version = "v0.4.26+commit.4563c3fc";
    verify_all(
        version,
        vec![
            (coin(version, "Coin.sol", json!({})), "exact"),
            (coin(version, "browser/Coin.sol", optimizer(200)), "exact"),
        ],
    )
    .await;
}

#[tokio::test]
async fn contracts_of_solc_0_5_16_are_verified_from_the_source_alone() {
    let version = "0.5.16";
    verify_all(
        version,
        vec![
            (coin(version, "contracts/Coin.sol", optimizer(1)), "exact"),
            (coin(version, "contracts/Coin.sol", with(json!({}), &json!({ "evmVersion": "byzantium" }))), "exact"),
        ],
    )
    .await;
}

#[tokio::test]
async fn contracts_of_solc_0_6_12_are_verified_from_the_source_alone() {
    let version = "v0.6.12+commit.27d51765";
    let older = json!({ "evmVersion": "petersburg" });
    let literal = json!({ "metadata": { "useLiteralContent": true } });
    verify_all(
        version,
        vec![
            (coin(version, "src/Coin.sol", with(optimizer(10_000), &older)), "exact"),
            (coin(version, "Coin.sol", with(optimizer(200), &literal)), "exact"),
        ],
    )
    .await;
}

#[tokio::test]
async fn contracts_of_solc_0_7_6_are_verified_from_the_source_alone() {
    let version = "v0.7.6+commit.7338295f";
    let swarm = json!({ "metadata": { "bytecodeHash": "bzzr1" } });
    let none = json!({ "metadata": { "bytecodeHash": "none" } });
    verify_all(
        version,
        vec![
            (coin(version, "contracts/Coin.sol", with(optimizer(999_999), &swarm)), "exact"),
            // Without a metadata hash the comments are not proven, and the settings are found by compiling.
            (coin(version, "contracts/Coin.sol", with(optimizer(10_000), &none)), "partial"),
        ],
    )
    .await;
}

#[tokio::test]
async fn contracts_of_solc_0_8_20_are_verified_from_the_source_alone() {
    let version = "v0.8.20+commit.a1b79de6";
    let paris = json!({ "evmVersion": "paris" });
    verify_all(
        version,
        vec![
            (coin(version, "contracts/Coin.sol", with(optimizer(200), &json!({ "viaIR": true }))), "exact"),
            (coin(version, "project:/contracts/Coin.sol", with(json!({}), &paris)), "exact"),
            // An unusual file name: the settings are found by comparing the code.
            (coin(version, "some/where/else.sol", optimizer(200)), "partial"),
        ],
    )
    .await;
}

#[tokio::test]
async fn contracts_of_the_newest_solc_are_verified_from_the_source_alone() {
    let version = "0.8.37";
    let bare = json!({ "metadata": { "appendCBOR": false, "bytecodeHash": "none" } });
    verify_all(
        version,
        vec![
            (coin(version, "src/Coin.sol", optimizer(999_999)), "exact"),
            (coin(version, "src/Coin.sol", with(optimizer(1), &bare)), "partial"),
        ],
    )
    .await;
}
