//! Compiler artifacts besides the code: metadata, storage layout, documentation, and the input to compile it again.

use serde_json::{Value, json};

use super::verifier_fixture::{Case, VerifierFixture, code_of, compile, word};

const SOURCE: &str = "// SPDX-License-Identifier: MIT
pragma solidity >=0.4.22;

/// @title A box
/// @author somebody
contract Box {
    uint256 public kept;
    address owner;
    constructor(uint256 k) public { kept = k; owner = msg.sender; }
    /// @notice Gives what is kept.
    /// @dev Reads one slot.
    function give() public view returns (uint256) { return kept; }
}
";

fn case(version: &'static str) -> Case {
    Case {
        version,
        path: "contracts/Box.sol",
        source: SOURCE.to_owned(),
        contract: "Box",
        settings: json!({ "optimizer": { "enabled": true, "runs": 300 } }),
        arguments: word(3),
    }
}

#[tokio::test]
async fn all_compiler_artifacts_are_served() {
    let fixture = VerifierFixture::start().await;
    let case = case("v0.8.20+commit.a1b79de6");
    let address = fixture.compile_and_deploy(&case).await;
    let route = |name: &str| format!("/api/v1/contracts/{address}/{name}");
    const NAMES: [&str; 5] = ["metadata", "storage-layout", "userdoc", "devdoc", "standard-json"];
    for name in NAMES {
        let answer = fixture.explorer.get(&route(name)).await;
        assert_eq!((answer.status, &answer.json["code"]), (404, &json!("contract_not_verified")), "{name}");
    }
    assert_eq!(fixture.verify(&address, case.version, SOURCE).await["match"], "exact");

    let metadata = fixture.explorer.get(&route("metadata")).await;
    assert_eq!(metadata.header("content-type"), "application/json");
    let outside =
        compile("0.8.20", vec![super::verifier_fixture::input(case.path, SOURCE, &case.settings)]).await.remove(0);
    let theirs = outside["contracts"][case.path]["Box"]["metadata"].as_str().unwrap();
    assert_eq!(metadata.text, theirs, "byte for byte: its hash is in the code");
    let layout = fixture.explorer.json(&route("storage-layout")).await;
    let labels: Vec<&Value> = layout["storage"].as_array().unwrap().iter().map(|slot| &slot["label"]).collect();
    assert_eq!(labels, [&json!("kept"), &json!("owner")]);
    let userdoc = fixture.explorer.json(&route("userdoc")).await;
    assert_eq!(userdoc["methods"]["give()"]["notice"], "Gives what is kept.");
    let devdoc = fixture.explorer.json(&route("devdoc")).await;
    assert_eq!((&devdoc["title"], &devdoc["author"]), (&json!("A box"), &json!("somebody")));

    // Compiling the input gives the deployed code.
    let mut input = fixture.explorer.json(&route("standard-json")).await;
    assert_eq!(input["sources"], json!({ case.path: { "content": SOURCE } }));
    input["settings"]["outputSelection"] = json!({ "*": { "*": ["evm.bytecode.object"] } });
    let again = code_of(&compile("0.8.20", vec![input]).await[0], case.path, "Box");
    let receipt = fixture.anvil.rpc.call("eth_getBlockByNumber", json!(["latest", true])).await;
    let sent = receipt["transactions"][0]["input"].as_str().unwrap();
    assert_eq!(sent, format!("0x{again}{}", case.arguments));

    // The page links to them.
    let page = fixture.explorer.get(&format!("/address/{address}?tab=contract")).await.text;
    for name in NAMES {
        assert!(page.contains(&route(name)), "no link to {name}");
    }
}

#[tokio::test]
async fn artifacts_that_an_old_compiler_lacks_are_reported_as_missing() {
    let fixture = VerifierFixture::start().await;
    let case = case("v0.4.26+commit.4563c3fc");
    let address = fixture.compile_and_deploy(&case).await;
    assert_eq!(fixture.verify(&address, case.version, SOURCE).await["match"], "exact");
    let answer = fixture.explorer.get(&format!("/api/v1/contracts/{address}/storage-layout")).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("artifact_not_available")), "{}", answer.json);
    assert!(answer.json["detail"].as_str().unwrap().contains("0.5.13"), "{}", answer.json);
    let userdoc = fixture.explorer.json(&format!("/api/v1/contracts/{address}/userdoc")).await;
    assert_eq!(userdoc["methods"]["give()"]["notice"], "Gives what is kept.");
    let input = fixture.explorer.json(&format!("/api/v1/contracts/{address}/standard-json")).await;
    assert_eq!(input["language"], "Solidity");
}
