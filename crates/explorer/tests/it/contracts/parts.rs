//! Libraries, immutable values, factories and twins.

use serde_json::{Value, json};

use super::verifier_fixture::{VerifierFixture, calldata, code_of, compile, input, word};

const VERSION: &str = "v0.8.20+commit.a1b79de6";
const PATH: &str = "contracts/Vault.sol";
const SOURCE: &str = "// SPDX-License-Identifier: GPL-3.0-or-later
pragma solidity ^0.8.20;

library Sums {
    function twice(uint256 x) external pure returns (uint256) { return 2 * x; }
}

contract Child {
    uint256 public immutable born;
    address public maker;
    constructor(uint256 b) { born = b; maker = msg.sender; }
}

contract Factory {
    Child[] public children;
    function make(uint256 b) external returns (address) {
        Child child = new Child(b);
        children.push(child);
        return address(child);
    }
}

contract Vault {
    uint256 public immutable cap;
    address public immutable keeper;
    string public title;
    constructor(uint256 c, string memory t) { cap = c; keeper = msg.sender; title = t; }
    function twice(uint256 x) external pure returns (uint256) { return Sums.twice(x); }
    function half(uint256 x) external view returns (uint256) { return x <= cap ? x / 2 : cap; }
}
";

/// `(uint256 7, string "savings")`
fn vault_arguments() -> String {
    let text = format!("{:0<64}", alloy_primitives::hex::encode("savings"));
    [word(7), word(64), word(7), text].concat()
}

/// Replaces the library placeholder with the address.
fn link(code: &str, library: &str) -> String {
    let mut linked = code.to_owned();
    while let Some(at) = linked.find("__$") {
        linked.replace_range(at..at + 40, library.trim_start_matches("0x"));
    }
    linked
}

struct Deployed {
    sums: String,
    vault: String,
    factory: String,
    child: String,
    second_child: String,
    twin_child: String,
}

async fn deploy(fixture: &VerifierFixture, output: &Value) -> Deployed {
    let code = |name: &str| code_of(output, PATH, name);
    let sums = fixture.deploy(&code("Sums")).await;
    let vault = fixture.deploy(&format!("{}{}", link(&code("Vault"), &sums), vault_arguments())).await;
    let factory = fixture.deploy(&code("Factory")).await;
    let mut children = Vec::new();
    for (index, born) in [11, 12, 11].into_iter().enumerate() {
        let data = calldata("make(uint256)", &[word(born)]);
        fixture.anvil.send(json!({ "from": fixture.from, "to": factory, "data": data, "gas": "0x300000" })).await;
        let index = index.to_string();
        let child = fixture.anvil.cast(&["call", &factory, "children(uint256)(address)", &index]).await;
        children.push(child.trim().to_lowercase());
    }
    fixture.anvil.wait_for(&fixture.explorer).await;
    let [child, second_child, twin_child] = children.try_into().unwrap();
    Deployed { sums, vault, factory, child, second_child, twin_child }
}

#[tokio::test]
async fn libraries_immutables_factories_and_their_children_are_verified() {
    let fixture = VerifierFixture::start().await;
    let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
    let linked = async |library: &str| {
        let mut settings = settings.clone();
        settings["libraries"] = json!({ PATH: { "Sums": library } });
        compile("0.8.20", vec![input(PATH, SOURCE, &settings)]).await.remove(0)
    };
    let output = compile("0.8.20", vec![input(PATH, SOURCE, &settings)]).await.remove(0);
    let on_chain = deploy(&fixture, &output).await;
    let changed = SOURCE.replace("SPDX-License-Identifier: GPL-3.0-or-later", "SPDX-License-Identifier: MIT");
    let broken = SOURCE.replace("born = b;", "born = b + 1;").replace("x / 2", "x / 3").replace("2 * x", "3 * x");
    for (address, name) in [
        (&on_chain.sums, "Sums"),
        (&on_chain.vault, "Vault"),
        (&on_chain.factory, "Factory"),
        (&on_chain.child, "Child"),
    ] {
        let answer = fixture.verify(address, VERSION, &broken).await;
        // Only the constructor of the child changed: its runtime code is the same.
        let refused = if name == "Child" { "partial" } else { "" };
        assert_eq!(answer["match"].as_str().unwrap_or_default(), refused, "{name}: {answer}");
        assert_eq!(answer["creationMatch"], Value::Null, "{name}: {answer}");

        let answer = fixture.verify(address, VERSION, &changed).await;
        assert_eq!(answer["match"], "partial", "{name}: {answer}");
        let answer = fixture.verify(address, VERSION, SOURCE).await;
        assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!(name)), "{answer}");
        assert_eq!(answer["creationMatch"], "exact", "{answer}");
        assert!(!answer["message"].as_str().unwrap().contains("constructor was not verified"), "{answer}");
    }
    let vault = fixture.explorer.json(&format!("/api/v1/contracts/{}", on_chain.vault)).await;
    assert_eq!(vault["libraries"], json!({ "contracts/Vault.sol:Sums": on_chain.sums }));
    assert_eq!(vault["license"], "GPL-3.0-or-later");
    assert_eq!(vault["constructorArguments"], format!("0x{}", vault_arguments()));
    assert_eq!(fixture.result(&on_chain.vault, "twice", json!(["21"])).await, "42");
    assert_eq!(fixture.result(&on_chain.vault, "title", json!([])).await, "savings");

    // The address of a library may also be in the settings, and so in the metadata hash.
    let output = linked(&on_chain.sums).await;
    let second = fixture.deploy(&format!("{}{}", code_of(&output, PATH, "Vault"), vault_arguments())).await;
    let answer = fixture.verify(&second, VERSION, SOURCE).await;
    assert_eq!(answer["match"], "exact", "{answer}");

    // A twin is marked as one; different immutable values make different code.
    let twin = fixture.explorer.json(&format!("/api/v1/contracts/{}", on_chain.twin_child)).await;
    assert_eq!((&twin["twinOf"], &twin["name"]), (&json!(on_chain.child), &json!("Child")));
    assert_eq!(twin["constructorArguments"], format!("0x{}", word(11)), "{twin}");
    assert_eq!(fixture.result(&on_chain.twin_child, "born", json!([])).await, "11");
    assert_eq!(fixture.explorer.get(&format!("/api/v1/contracts/{}", on_chain.second_child)).await.status, 404);
    assert_eq!(fixture.call(&on_chain.second_child, "born", json!([])).await.status, 404);

    // Names and labels follow.
    let detail = fixture.explorer.json(&format!("/api/v1/addresses/{}", on_chain.vault)).await;
    assert_eq!((&detail["label"], &detail["contract"]["verified"]), (&json!("Vault"), &json!(true)));
    assert_eq!((&detail["contract"]["name"], &detail["contract"]["twinOf"]), (&json!("Vault"), &Value::Null));
    let list = fixture.explorer.json("/api/v1/contracts?limit=2").await;
    assert_eq!((&list["total"], list["contracts"].as_array().unwrap().len()), (&json!(5), 2));
    assert_eq!(list["contracts"][0]["address"], second);

    // Verifications survive a restart.
    let (_, data) = fixture.explorer.stop().await;
    let again = crate::support::TestExplorer::start_on(fixture.anvil.url(), &data).await;
    fixture.anvil.wait_for(&again).await;
    assert_eq!(again.json(&format!("/api/v1/contracts/{}", on_chain.vault)).await, vault);
}
