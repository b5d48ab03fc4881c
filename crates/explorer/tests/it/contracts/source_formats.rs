//! All formats of submitted sources.

use serde_json::{Value, json};

use super::verifier_fixture::{VerifierFixture, code_of, compile, word};

const VERSION: &str = "0.8.20+commit.a1b79de6";
const BASE: &str = "pragma solidity ^0.8.0;\nabstract contract Base { uint256 public x; }\n";
const MAIN: &str = "pragma solidity ^0.8.0;\nimport \"./Base.sol\";\nimport {Unused} from \"lib/Unused.sol\";\n\
    contract Main is Base { constructor(uint256 y) { x = y; } }\n";
const UNUSED: &str = "pragma solidity ^0.8.0;\nlibrary Unused {}\n";
const STRANGE: &str = "pragma solidity ^0.8.0;\ncontract Strange {}\n";

#[tokio::test]
async fn standard_json_and_multiple_files_are_accepted_in_every_form() {
    let fixture = VerifierFixture::start().await;
    let sources = json!({
        "contracts/Base.sol": { "content": BASE },
        "contracts/Main.sol": { "content": MAIN },
        "lib/Unused.sol": { "content": UNUSED },
    });
    let settings = json!({
        "optimizer": { "enabled": true, "runs": 777 },
        "evmVersion": "paris",
        "metadata": { "bytecodeHash": "ipfs" },
        "outputSelection": { "*": { "*": ["evm.bytecode.object", "metadata"] } },
    });
    let standard = json!({ "language": "Solidity", "sources": sources, "settings": settings });
    let output = compile("0.8.20", vec![standard.clone()]).await.remove(0);
    let code = code_of(&output, "contracts/Main.sol", "Main");
    let mut more = standard.clone();
    more["sources"]["elsewhere/Strange.sol"] = json!({ "content": STRANGE });
    let mut forms = vec![
        (more.to_string(), "exact"),
        (format!("{{{standard}}}"), "exact"),
        // Without settings: 777 runs are not a common value, but only they give the metadata hash.
        (sources.to_string(), "exact"),
    ];
    let usual = json!({ "language": "Solidity", "sources": sources, "settings": {} });
    forms.push((usual.to_string(), "exact"));
    for (form, expected) in forms {
        let address = fixture.deploy(&format!("{code}{}", word(5))).await;
        let answer = fixture.verify(&address, VERSION, &form).await;
        assert_eq!(answer["match"], expected, "{form}: {answer}");
        let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
        let paths: Vec<&str> =
            contract["sources"].as_array().unwrap().iter().map(|source| source["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["contracts/Base.sol", "contracts/Main.sol", "lib/Unused.sol"], "no source that is not used");
        assert_eq!(contract["name"], "Main");
    }
}

#[tokio::test]
async fn changed_line_endings_still_match_exactly_and_given_settings_are_used() {
    let fixture = VerifierFixture::start().await;
    let source = "pragma solidity ^0.8.0;\r\ncontract Lines {\r\n  uint256 public x;\r\n}\r\n";
    let settings = json!({ "outputSelection": { "*": { "*": ["evm.bytecode.object"] } } });
    let input =
        json!({ "language": "Solidity", "sources": { "Lines.sol": { "content": source } }, "settings": settings });
    let output = compile("0.8.20", vec![input]).await.remove(0);
    let code = code_of(&output, "Lines.sol", "Lines");
    let address = fixture.deploy(&code).await;
    let sent = source.replace("\r\n", "\n");
    let answer = fixture.verify(&address, VERSION, &sent).await;
    assert_eq!(answer["match"], "exact", "{answer}");

    let body = |more: Value| {
        let mut body = json!({ "address": address, "sourceCode": "contract Other { uint256 public x; }", "compilerVersion": VERSION });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let given = body(json!({ "optimizer": true, "runs": 5, "evmVersion": "paris", "viaIR": false }));
    let answer = fixture.post("/api/v1/verify", &given).await.ok();
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("optimizer with 5 runs, EVM version paris"), "{message}");
    assert!(message.contains("1 compilation "), "{message}");
    let answer = fixture.post("/api/v1/verify", &body(json!({ "contractName": "Nobody" }))).await.ok();
    assert_eq!(answer["message"], "The source defines no contract named Nobody.");
}
