//! Sources of real projects, with details that compilers and tools treat differently.

use serde_json::{Value, json};

use super::verifier_fixture::{COIN, Case, VerifierFixture, code_of, compile, flatten, input, short, word};

/// The library creates a contract in an internal function, so the code of the creator contains that of the child.
const MAKER: &str = "pragma solidity >=0.4.22;
contract Child { uint256 public born = 7; }
library Births {
    function birth() internal returns (address) { return address(new Child()); }
}
contract Maker {
    address public last;
    function make() public returns (address) { last = Births.birth(); return last; }
}
";

#[tokio::test]
async fn a_contract_created_by_an_internal_library_function_is_verified_with_old_and_new_compilers() {
    let fixture = VerifierFixture::start().await;
    for version in ["0.4.26", "0.5.16", "0.6.12", "0.7.6", "0.8.20"] {
        let case = Case {
            version,
            path: "contracts/Maker.sol",
            source: MAKER.to_owned(),
            contract: "Maker",
            settings: json!({ "optimizer": { "enabled": true, "runs": 200 } }),
            arguments: String::new(),
        };
        let address = fixture.compile_and_deploy(&case).await;
        let answer = fixture.verify(&address, version, MAKER).await;
        assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("Maker")), "{answer}");
        // Also found by compiling, without a matching hash, and with the metadata of the child in the code.
        let address = fixture.compile_and_deploy(&case).await;
        let changed = format!("// Changed.\n{MAKER}");
        let answer = fixture.verify(&address, version, &changed).await;
        assert_eq!((&answer["match"], &answer["runtimeMatch"]), (&json!("partial"), &json!("partial")), "{answer}");
    }
}

#[tokio::test]
async fn code_without_metadata_is_verified_from_input_that_requests_a_hash() {
    let fixture = VerifierFixture::start().await;
    let path = "src/Coin.sol";
    let settings = |metadata: Value| json!({ "optimizer": { "enabled": true, "runs": 300 }, "metadata": metadata });
    let output = compile("0.8.20", vec![input(path, COIN, &settings(json!({ "appendCBOR": false })))]).await.remove(0);
    let code = code_of(&output, path, "Coin");
    for metadata in [
        json!({ "bytecodeHash": "ipfs", "appendCBOR": false, "useLiteralContent": false }),
        json!({ "bytecodeHash": "ipfs" }),
        json!({ "bytecodeHash": "none", "appendCBOR": false }),
    ] {
        let address = fixture.deploy(&format!("{code}{}", word(3))).await;
        let standard = input(path, COIN, &settings(metadata));
        let answer = fixture.verify(&address, "0.8.20", &standard.to_string()).await;
        assert_eq!((&answer["match"], &answer["contractName"]), (&json!("partial"), &json!("Coin")), "{answer}");
    }
}

#[tokio::test]
async fn a_byte_order_mark_before_a_source_does_not_matter() {
    let fixture = VerifierFixture::start().await;
    let case = Case { settings: json!({}), arguments: word(3), ..Case::coin("0.8.20") };
    let marked = format!("\u{feff}{COIN}");
    for form in [marked.clone(), json!({ "contracts/Coin.sol": { "content": marked } }).to_string()] {
        let address = fixture.compile_and_deploy(&case).await;
        let answer = fixture.verify(&address, case.version, &form).await;
        assert_eq!(answer["match"], "exact", "{answer}");
        let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
        assert_eq!(contract["sources"][0]["content"], COIN, "the mark is not stored");
    }
}

#[tokio::test]
async fn the_license_of_the_source_overrides_the_submitted_one() {
    let fixture = VerifierFixture::start().await;
    // A different number makes different code: verification applies to every deployment of the same code.
    for (number, (version, head, claim, expected)) in [
        ("0.8.20", "// SPDX-License-Identifier: GPL-3.0-or-later\n", json!("MIT"), json!("GPL-3.0-or-later")),
        ("0.8.20", "", json!("MIT"), json!("MIT")),
        ("0.8.20", "", Value::Null, Value::Null),
        // A compiler that ignores the license.
        ("0.5.16", "// SPDX-License-Identifier: Apache-2.0\n", json!("MIT"), json!("Apache-2.0")),
    ]
    .into_iter()
    .enumerate()
    {
        let source = format!("{head}{COIN}\n// {number}\n");
        let case = Case {
            version,
            path: "Coin.sol",
            source: source.clone(),
            contract: "Coin",
            settings: json!({}),
            arguments: word(1),
        };
        let address = fixture.compile_and_deploy(&case).await;
        let body = json!({ "address": address, "sourceCode": source, "compilerVersion": version, "license": claim });
        let answer = fixture.post("/api/v1/verify", &body).await.ok();
        assert_eq!(answer["success"], true, "{answer}");
        let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
        assert_eq!(contract["license"], expected, "{version} {head} {claim}");
    }
}

#[tokio::test]
async fn a_large_unrelated_source_is_rejected_after_one_compilation() {
    let fixture = VerifierFixture::start().await;
    let (version, path) = ("0.8.37", "src/Share.sol");
    let base = flatten("^0.8.24", &["@openzeppelin/contracts/token/ERC20/extensions/ERC20Votes.sol"]).await;
    let share = |more: &str| {
        format!(
            "{base}\ncontract Share is ERC20Votes {{\n  constructor() ERC20(\"Share\", \"SHR\") EIP712(\"Share\", \"1\") {{}}\n{more}}}\n"
        )
    };
    let settings = json!({ "optimizer": { "enabled": true, "runs": 444 } });
    let deployed = share("  function mint() external { _mint(msg.sender, 1); }\n");
    let output = compile(short(version), vec![input(path, &deployed, &settings)]).await.remove(0);
    let address = fixture.deploy(&code_of(&output, path, "Share")).await;
    for (sent, named) in [
        // The functions that differ on both sides; mint() has the selector 0x1249c58b.
        (share(""), "0x1249c58b"),
        (share("  function burn(uint256 amount) external { _burn(msg.sender, amount); }\n"), "burn(uint256)"),
    ] {
        let answer = fixture.verify(&address, version, &sent).await;
        let message = answer["message"].as_str().unwrap();
        assert_eq!(answer["success"], false, "{message}");
        assert!(message.contains(named) && message.contains("1 compilation "), "{message}");
    }
}
