//! Submissions that try to verify a contract with source that its code does not prove.

use alloy_primitives::{B256, keccak256};
use serde_json::{Value, json};

use super::verifier_fixture::{VerifierFixture, as_word, calldata, code_of, compile, flatten, input, word};
use crate::support::{Anvil, Launch};

const VERSION: &str = "v0.8.20+commit.a1b79de6";
const PATH: &str = "contracts/Case.sol";

async fn compiled(source: &str) -> Value {
    compile("0.8.20", vec![input(PATH, source, &json!({ "optimizer": { "enabled": true, "runs": 200 } }))])
        .await
        .remove(0)
}

/// The source with its file name, so that the metadata needs no search.
fn named(source: &str) -> String {
    json!({ PATH: { "content": source } }).to_string()
}

/// `(bytes)` as constructor arguments.
fn as_bytes_argument(code: &str) -> String {
    let code = code.trim_start_matches("0x");
    let padded = code.len().div_ceil(64) * 64;
    format!("{}{}{code:0<padded$}", word(32), word(code.len() as u64 / 2))
}

async fn runtime(fixture: &VerifierFixture, address: &str) -> String {
    fixture.anvil.rpc.call("eth_getCode", json!([address, "latest"])).await.as_str().unwrap().to_owned()
}

/// The contract at this address is not verified anywhere in the API.
async fn assert_not_verified(fixture: &VerifierFixture, address: &str) {
    let contract = fixture.explorer.get(&format!("/api/v1/contracts/{address}")).await;
    assert_eq!((contract.status, &contract.json["code"]), (404, &json!("contract_not_verified")), "{}", contract.json);
    let detail = fixture.explorer.json(&format!("/api/v1/addresses/{address}")).await;
    assert_eq!(detail["contract"]["verified"], false, "{detail}");
    assert_eq!(detail["label"], Value::Null, "{detail}");
    assert_eq!(fixture.call(address, "anything", json!([])).await.status, 404);
    let listed = fixture.explorer.json("/api/v1/contracts?limit=100").await;
    let listed = listed["contracts"].as_array().unwrap();
    assert!(listed.iter().all(|contract| contract["address"] != address), "{listed:?}");
}

async fn verify_as(fixture: &VerifierFixture, address: &str, version: &str, source: &str, name: &str) -> Value {
    let source = named(source);
    let body = json!({ "address": address, "sourceCode": source, "compilerVersion": version, "contractName": name });
    fixture.post("/api/v1/verify", &body).await.ok()
}

const MAKER: &str = "pragma solidity ^0.8.20;
contract Child { uint256 public kept; constructor(uint256 k) { kept = k; } }
contract Maker {
    Child public child; Child public second;
    constructor(uint256 k) { child = new Child(k + 1); second = new Child{salt: bytes32(k)}(k + 2); }
    function make(uint256 k) external returns (address) { return address(new Child{salt: bytes32(k)}(k)); }
}
";

#[tokio::test]
async fn a_contract_created_in_a_constructor_is_not_verified_by_the_creation_code_of_its_creator() {
    let fixture = VerifierFixture::start().await;
    let maker = fixture.deploy(&format!("{}{}", code_of(&compiled(MAKER).await, PATH, "Maker"), word(40))).await;
    let made = async |getter: &str| {
        let child = fixture.anvil.cast(&["call", &maker, &format!("{getter}()(address)")]).await;
        child.trim().to_lowercase()
    };
    let (child, second) = (made("child").await, made("second").await);
    // Created by a call: the input of the transaction is not creation code.
    let data = calldata("make(uint256)", &[word(77)]);
    let third = fixture.anvil.cast(&["call", &maker, "make(uint256)(address)", "77"]).await.trim().to_lowercase();
    fixture.anvil.send(json!({ "from": fixture.from, "to": maker, "data": data, "gas": "0x300000" })).await;
    fixture.anvil.wait_for(&fixture.explorer).await;

    for child in [&child, &second, &third] {
        let answer = verify_as(&fixture, child, VERSION, MAKER, "Maker").await;
        assert_eq!((&answer["success"], &answer["match"]), (&json!(false), &Value::Null), "{answer}");
        assert_eq!(answer["creationMatch"], Value::Null, "{answer}");
        assert_not_verified(&fixture, child).await;
    }
    for (child, kept) in [(&child, 41), (&second, 42), (&third, 77)] {
        let answer = fixture.verify(child, VERSION, &named(MAKER)).await;
        assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("Child")), "{answer}");
        assert_eq!(answer["creationMatch"], "exact", "the creation is in the trace: {answer}");
        let contract = fixture.explorer.json(&format!("/api/v1/contracts/{child}")).await;
        assert_eq!(contract["constructorArguments"], format!("0x{}", word(kept)));
    }
    let answer = fixture.verify(&maker, VERSION, &named(MAKER)).await;
    assert_eq!((&answer["contractName"], &answer["creationMatch"]), (&json!("Maker"), &json!("exact")), "{answer}");
}

#[tokio::test]
async fn the_admin_created_by_the_openzeppelin_proxy_is_not_verified_as_the_proxy() {
    let fixture = VerifierFixture::start().await;
    let path = "@openzeppelin/contracts/proxy/transparent/TransparentUpgradeableProxy.sol";
    let source = flatten("^0.8.24", &[path]).await;
    let output = compile("0.8.37", vec![input(PATH, &source, &json!({}))]).await.remove(0);
    let logic = fixture.deploy(&code_of(&compiled("contract Logic { uint256 public x; }").await, PATH, "Logic")).await;
    // Its constructor requires a call.
    let begin = format!("{:0<64}", calldata("x()", &[]).trim_start_matches("0x"));
    let arguments = [as_word(&logic), as_word(&fixture.from), word(96), word(4), begin].concat();
    let proxy = fixture.deploy(&format!("{}{arguments}", code_of(&output, PATH, "TransparentUpgradeableProxy"))).await;
    // The first contract created by a contract has nonce 1.
    let admin = fixture.anvil.cast(&["compute-address", &proxy, "--nonce", "1"]).await;
    let admin = admin.trim().rsplit(' ').next().unwrap().to_lowercase();
    assert_ne!(runtime(&fixture, &admin).await, "0x");

    let answer = verify_as(&fixture, &admin, "0.8.37", &source, "TransparentUpgradeableProxy").await;
    assert_eq!((&answer["success"], &answer["creationMatch"]), (&json!(false), &Value::Null), "{answer}");
    assert_not_verified(&fixture, &admin).await;
    let answer = fixture.verify(&admin, "0.8.37", &named(&source)).await;
    assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("ProxyAdmin")), "{answer}");
    assert_eq!(answer["creationMatch"], "exact", "{answer}");
    let answer = fixture.verify(&proxy, "0.8.37", &named(&source)).await;
    assert_eq!(answer["contractName"], "TransparentUpgradeableProxy", "{answer}");
}

#[tokio::test]
async fn a_constructor_that_returns_the_code_of_another_contract_verifies_neither() {
    const VICTIM: &str = "contract Victim { uint256 public total; function add() external { total += 1; } }";
    const EVIL: &str = "contract Evil {
        constructor(bytes memory code) { assembly { return(add(code, 32), mload(code)) } }
        function harmless() external pure returns (bool) { return true; }
    }";
    let fixture = VerifierFixture::start().await;
    let victim = fixture.deploy(&code_of(&compiled(VICTIM).await, PATH, "Victim")).await;
    let evil = code_of(&compiled(EVIL).await, PATH, "Evil");
    let copy = fixture.deploy(&format!("{evil}{}", as_bytes_argument(&runtime(&fixture, &victim).await))).await;
    assert_eq!(runtime(&fixture, &copy).await, runtime(&fixture, &victim).await);

    for _ in 0..2 {
        let answer = fixture.verify(&copy, VERSION, &named(EVIL)).await;
        assert_eq!((&answer["success"], &answer["match"]), (&json!(false), &Value::Null), "{answer}");
        assert_eq!((&answer["runtimeMatch"], &answer["creationMatch"]), (&Value::Null, &json!("exact")), "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("Only the creation code") && message.contains("nothing is verified"), "{message}");
        for address in [&copy, &victim] {
            assert_not_verified(&fixture, address).await;
        }
    }

    // The victim's own source is still accepted and holds for both; the constructor is proven only where it ran.
    let answer = fixture.verify(&victim, VERSION, &named(VICTIM)).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("exact"), &json!("exact")), "{answer}");
    let twin = fixture.explorer.json(&format!("/api/v1/contracts/{copy}")).await;
    assert_eq!((&twin["name"], &twin["twinOf"]), (&json!("Victim"), &json!(victim)));
    assert_eq!((&twin["match"], &twin["creationMatch"]), (&json!("exact"), &Value::Null), "{twin}");
    assert_eq!(twin["constructorArguments"], Value::Null, "{twin}");

    // A creation match alone does not replace a runtime match.
    let answer = fixture.verify(&copy, VERSION, &named(EVIL)).await;
    assert_eq!(answer["success"], false, "{answer}");
    assert_eq!(fixture.explorer.json(&format!("/api/v1/contracts/{copy}")).await["name"], "Victim");
}

#[tokio::test]
async fn a_copy_of_a_library_at_another_address_is_not_that_library() {
    const SUMS: &str = "library Sums { function twice(uint256 x) external pure returns (uint256) { return 2 * x; } }";
    const COPIER: &str =
        "contract Copier { constructor(bytes memory code) { assembly { return(add(code, 32), mload(code)) } } }";
    let fixture = VerifierFixture::start().await;
    let sums = fixture.deploy(&code_of(&compiled(SUMS).await, PATH, "Sums")).await;
    assert_eq!(fixture.verify(&sums, VERSION, &named(SUMS)).await["match"], "exact");
    let copier = code_of(&compiled(COPIER).await, PATH, "Copier");
    let code = runtime(&fixture, &sums).await;
    let copy = fixture.deploy(&format!("{copier}{}", as_bytes_argument(&code))).await;
    assert_eq!(runtime(&fixture, &copy).await, code);
    assert_not_verified(&fixture, &copy).await;
    let answer = fixture.verify(&copy, VERSION, &named(SUMS)).await;
    assert_eq!(answer["success"], false, "{answer}");
    assert_not_verified(&fixture, &copy).await;

    // One extra byte makes different code.
    let longer = fixture.deploy(&format!("{copier}{}", as_bytes_argument(&format!("{code}00")))).await;
    let answer = fixture.verify(&longer, VERSION, &named(SUMS)).await;
    assert_eq!(answer["success"], false, "{answer}");
    assert_not_verified(&fixture, &longer).await;
}

/// The optimizer puts constants that are used often after the code, ordered by their hashes. So a source can have a
/// constant that looks exactly like metadata and contains the metadata hash of another contract.
#[tokio::test]
async fn a_constant_that_looks_like_a_metadata_hash_is_compared_as_code() {
    const OTHER: &str = "pragma solidity ^0.8.20; contract Other { uint256 public x; }";
    let settings = json!({ "optimizer": { "enabled": true, "runs": 1 } });
    let with_other = |holder: &str| {
        let mut input = input("Other.sol", OTHER, &settings);
        input["sources"]["Holder.sol"] = json!({ "content": holder });
        input
    };
    let output = compile("0.8.20", vec![input("Other.sol", OTHER, &settings)]).await.remove(0);
    let other = code_of(&output, "Other.sol", "Other");
    let auxdata = &other[other.len() - 106..];
    assert!(auxdata.starts_with("a2646970667358221220") && auxdata.ends_with("64736f6c63430008140033"), "{auxdata}");
    let hash = &auxdata[20..84];

    // Head, hash and tail keep this order if their hashes do, for both the submitted and the deployed hash.
    let keccak = |digits: &str| keccak256(alloy_primitives::hex::decode(digits).unwrap());
    let found = |digits: &dyn Fn(String) -> String, fits: &dyn Fn(B256) -> bool| {
        // Without runs of equal digits: the compiler encodes those in fewer bytes.
        let all = (0u64..).map(|salt| digits(alloy_primitives::hex::encode(keccak256(salt.to_be_bytes()))));
        all.into_iter().find(|digits| fits(keccak(digits))).unwrap()
    };
    let deployed_hash = found(&|salt| salt, &|found| found < keccak(hash));
    let head = found(&|salt| format!("{}{}", &salt[20..], &auxdata[..20]), &|found| found < keccak(&deployed_hash));
    let tail = found(&|salt| format!("{}{}", &auxdata[84..], &salt[22..]), &|found| found > keccak(hash));
    let holder = |hash: &str| {
        let functions: String = (0..18)
            .map(|n| {
                let constant = [&head, hash, &tail][n / 6];
                let factor = 2 * n + 3;
                format!("function f{n}(uint256 a) external pure returns (uint256) {{ unchecked {{ return (0x{constant} ^ a) * {factor}; }} }}\n")
            })
            .collect();
        format!("pragma solidity ^0.8.20;\ncontract Holder {{\n{functions}}}\n")
    };
    let outputs = compile("0.8.20", vec![with_other(&holder(hash)), with_other(&holder(&deployed_hash))]).await;
    let [sent, deployed] = [0, 1].map(|index| code_of(&outputs[index], "Holder.sol", "Holder"));
    assert!(sent.contains(auxdata), "the constant looks like metadata: {sent}");
    assert_eq!(sent.len(), deployed.len());

    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(&deployed).await;
    let body = |hash: &str| json!({ "address": address, "sourceCode": with_other(&holder(hash)).to_string(), "compilerVersion": VERSION });
    let answer = fixture.post("/api/v1/verify", &body(hash)).await.ok();
    assert_eq!((&answer["success"], &answer["match"]), (&json!(false), &Value::Null), "{answer}");
    assert_not_verified(&fixture, &address).await;
    let answer = fixture.post("/api/v1/verify", &body(&deployed_hash)).await.ok();
    assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("Holder")), "{answer}");
}

#[tokio::test]
async fn a_contract_redeployed_with_other_code_is_not_verified() {
    const SOURCE: &str = "pragma solidity ^0.8.20;
interface Giver { function code() external view returns (bytes memory); }
contract Morph { constructor() { bytes memory c = Giver(msg.sender).code(); assembly { return(add(c, 32), mload(c)) } } }
contract Maker {
    bytes public code;
    function make(bytes calldata c) external returns (address) { code = c; return address(new Morph{salt: 0}()); }
}
contract Good { function name() external pure returns (string memory) { return \"good\"; } function end() external { selfdestruct(payable(msg.sender)); } }
contract Bad { uint256 public stolen; function name() external pure returns (string memory) { return \"bad\"; } }
";
    // Since Cancun, SELFDESTRUCT removes a contract only in the transaction that created it.
    let anvil = Anvil::with(&["--gas-limit", "100000000", "--hardfork", "shanghai"]).await;
    let launch = Launch::run(anvil.url()).argument("--compiler-source", super::verifier_fixture::compilers().display());
    let fixture = VerifierFixture { explorer: launch.start().await, from: anvil.accounts().await.remove(0), anvil };
    let output = compiled(SOURCE).await;
    let maker = fixture.deploy(&code_of(&output, PATH, "Maker")).await;
    let originals =
        [fixture.deploy(&code_of(&output, PATH, "Good")).await, fixture.deploy(&code_of(&output, PATH, "Bad")).await];
    let codes = [runtime(&fixture, &originals[0]).await, runtime(&fixture, &originals[1]).await];
    let send = async |to: &str, data: String| {
        let sent = json!({ "from": fixture.from, "to": to, "data": data, "gas": "0x900000" });
        let receipt = fixture.anvil.send(sent).await;
        assert_eq!(receipt["status"], "0x1", "{receipt}");
        fixture.anvil.wait_for(&fixture.explorer).await;
    };
    let make =
        async |code: &str| send(&maker, format!("{}{}", calldata("make(bytes)", &[]), as_bytes_argument(code))).await;
    let wanted = fixture.anvil.cast(&["call", &maker, "make(bytes)(address)", &codes[0]]).await.trim().to_lowercase();
    make(&codes[0]).await;
    assert_eq!(runtime(&fixture, &wanted).await, codes[0]);
    let answer = fixture.verify(&wanted, VERSION, &named(SOURCE)).await;
    assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("Good")), "{answer}");
    assert_eq!(answer["creationMatch"], Value::Null, "its constructor is another one: {answer}");

    send(&wanted, calldata("end()", &[])).await;
    make(&codes[1]).await;
    assert_eq!(runtime(&fixture, &wanted).await, codes[1]);
    // The list lags behind the tip.
    crate::support::eventually("the list without it", async || {
        (fixture.explorer.json("/api/v1/contracts").await["total"] == 0).then_some(())
    })
    .await;
    assert_not_verified(&fixture, &wanted).await;
    let answer = verify_as(&fixture, &wanted, VERSION, SOURCE, "Good").await;
    assert_eq!(answer["success"], false, "{answer}");
    assert_not_verified(&fixture, &wanted).await;
    let answer = fixture.verify(&wanted, VERSION, &named(SOURCE)).await;
    assert_eq!((&answer["match"], &answer["contractName"]), (&json!("exact"), &json!("Bad")), "{answer}");
}

#[tokio::test]
async fn an_account_that_delegates_to_a_verified_contract_is_not_a_contract() {
    const SOURCE: &str = "contract Wallet { function ping() external pure returns (bool) { return true; } }";
    let fixture = VerifierFixture::start().await;
    let wallet = fixture.deploy(&code_of(&compiled(SOURCE).await, PATH, "Wallet")).await;
    assert_eq!(fixture.verify(&wallet, VERSION, &named(SOURCE)).await["match"], "exact");
    let account = fixture.anvil.accounts().await.remove(3);
    let delegation = format!("0xef0100{}", &wallet[2..]);
    fixture.anvil.rpc.call("anvil_setCode", json!([account, delegation])).await;
    fixture.anvil.send(json!({ "from": fixture.from, "to": account, "value": "0x1" })).await;
    fixture.anvil.wait_for(&fixture.explorer).await;
    let body = json!({ "address": account, "sourceCode": named(SOURCE), "compilerVersion": VERSION });
    let answer = fixture.post("/api/v1/verify", &body).await;
    assert_eq!((answer.status, &answer.json["code"]), (404, &json!("code_not_found")), "{}", answer.json);
    assert_eq!(fixture.explorer.get(&format!("/api/v1/contracts/{account}")).await.status, 404);
}

#[tokio::test]
async fn a_submitted_license_does_not_replace_that_of_the_source_and_unused_files_are_not_stored() {
    const SOURCE: &str =
        "// SPDX-License-Identifier: GPL-3.0-only\npragma solidity ^0.8.20;\ncontract Plain { uint256 public x; }\n";
    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(&code_of(&compiled(SOURCE).await, PATH, "Plain")).await;
    let files = json!({ PATH: { "content": SOURCE }, "contracts/Decoy.sol": {
        "content": "// SPDX-License-Identifier: MIT\npragma solidity ^0.8.20;\ncontract Plain { uint256 public safe; }\n" } });
    let body =
        json!({ "address": address, "sourceCode": files.to_string(), "compilerVersion": VERSION, "license": "MIT" });
    let answer = fixture.post("/api/v1/verify", &body).await.ok();
    assert_eq!(answer["match"], "exact", "{answer}");
    let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
    assert_eq!(contract["license"], "GPL-3.0-only", "{contract}");
    assert_eq!(contract["file"], PATH);
    let paths: Vec<&Value> = contract["sources"].as_array().unwrap().iter().map(|source| &source["path"]).collect();
    assert_eq!(paths, [&json!(PATH)]);
}
