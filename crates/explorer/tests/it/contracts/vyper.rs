//! Vyper contracts, compiled by the packages of PyPI.

use std::{fs, io::Write, os::unix::fs::PermissionsExt, path::PathBuf, process::Stdio};

use serde_json::{Value, json};

use super::{
    hostile::ONE_BYTE_CODE,
    verifier_fixture::{Case, VerifierFixture, word},
};

/// A folder of Python environments, one for each version.
pub(crate) fn environments() -> PathBuf {
    PathBuf::from(
        std::env::var_os("EXPLORER_TEST_VYPER")
            .unwrap_or_else(|| panic!("this test needs Vyper: run ./test, which gets it, or set EXPLORER_TEST_VYPER")),
    )
}

/// A contract with immutable variables of two sizes, and one file that it imports.
pub(crate) fn vault(version: &str) -> Value {
    let old = version.starts_with("0.3");
    let (constructor, import, event) = if old {
        ("external", "import interfaces.Limits as Limits", "log Paid(msg.sender, amount)")
    } else {
        ("deploy", "import interfaces.Limits as Limits", "log Paid(who=msg.sender, amount=amount)")
    };
    let call = if old { "Limits(msg.sender).limit()" } else { "staticcall Limits(msg.sender).limit()" };
    let source = format!(
        "# pragma version {version}
\"\"\"
@title Vault
@license MIT
\"\"\"
{import}

event Paid:
    who: indexed(address)
    amount: uint256

OWNER: public(immutable(address))
NAME: immutable(String[40])
total: public(uint256)

@{constructor}
def __init__(name: String[40]):
    OWNER = msg.sender
    NAME = name

@external
def pay(amount: uint256):
    assert amount <= {call}, \"too much\"
    self.total += amount
    {event}

@view
@external
def name() -> String[40]:
    return NAME
"
    );
    let limits = "@view\n@external\ndef limit() -> uint256:\n    pass\n";
    let interface = if old { "interfaces/Limits.vy" } else { "interfaces/Limits.vyi" };
    let limits = if old { limits.to_owned() } else { limits.replace("pass", "...") };
    json!({
        "language": "Vyper",
        "sources": { "src/Vault.vy": { "content": source } },
        "interfaces": { interface: { "content": limits } },
        "settings": { "outputSelection": { "src/Vault.vy": ["evm.bytecode.object"] } },
    })
}

/// The creation code, compiled by the package's own program instead of product code.
pub(crate) fn compile(version: &str, input: &Value) -> String {
    let program = environments().join(format!("vyper-{version}/bin/vyper"));
    let mut command = std::process::Command::new(program);
    command.arg("--standard-json").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let output: Value = serde_json::from_slice(&output.stdout).unwrap();
    let code = output["contracts"]["src/Vault.vy"]["Vault"]["evm"]["bytecode"]["object"].as_str();
    code.unwrap_or_else(|| panic!("{output}")).trim_start_matches("0x").to_owned()
}

/// The constructor argument: the string "savings".
pub(crate) fn arguments() -> String {
    format!("{}{}{:0<64}", word(32), word(7), alloy_primitives::hex::encode("savings"))
}

pub(super) async fn deploy(fixture: &VerifierFixture, version: &str, input: &Value) -> String {
    fixture.deploy(&format!("{}{}", compile(version, input), arguments())).await
}

fn changed(input: &Value, from: &str, to: &str) -> Value {
    let mut input = input.clone();
    let source = &mut input["sources"]["src/Vault.vy"]["content"];
    let text = source.as_str().unwrap().replace(from, to);
    assert_ne!(source.as_str(), Some(text.as_str()));
    *source = text.into();
    input
}

async fn a_contract_is_verified(version: &str, full_version: &str, creation_match: &str) {
    let fixture = VerifierFixture::start_with(environments()).await;
    let input = vault(version);
    let address = deploy(&fixture, version, &input).await;

    let mut sent = input.clone();
    sent["sources"]["src/Unused.vy"] = json!({ "content": "x: public(uint256)\n" });
    sent["settings"] = json!({});
    let answer = fixture.verify(&address, &format!("v{full_version}"), &sent.to_string()).await;
    assert_eq!((&answer["success"], &answer["contractName"]), (&json!(true), &json!("Vault")), "{answer}");
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("partial"), &json!(creation_match)), "{answer}");

    let contract = fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await;
    assert_eq!((&contract["language"], &contract["license"]), (&json!("Vyper"), &json!("MIT")), "{contract}");
    let compiler = contract["compilerVersion"].as_str().unwrap();
    assert!(full_version.starts_with(compiler), "{compiler}");
    assert_eq!(contract["constructorArguments"], format!("0x{}", arguments()));
    let mut paths: Vec<&str> =
        contract["sources"].as_array().unwrap().iter().map(|source| source["path"].as_str().unwrap()).collect();
    paths.sort_unstable();
    assert_eq!(paths.len(), 2, "what the contract does not use is not stored: {paths:?}");
    assert_eq!(paths[1], "src/Vault.vy");
    assert_eq!(fixture.result(&address, "name", json!([])).await, "savings");
    assert_eq!(fixture.result(&address, "OWNER", json!([])).await, fixture.from.to_lowercase());
    for page in [format!("/address/{address}?tab=contract"), "/contracts".to_owned()] {
        let page = fixture.page(&page).await;
        assert!(page.contains(&format!("Vyper {compiler}")), "{page}");
    }

    // The input that is offered compiles to the code again, here as a contract of another owner.
    let offered = fixture.explorer.json(&format!("/api/v1/contracts/{address}/standard-json")).await;
    assert_eq!(offered["language"], "Vyper");
    let answer = fixture.verify(&address, compiler, &offered.to_string()).await;
    assert_eq!(answer["creationMatch"], creation_match, "{answer}");
}

#[tokio::test]
async fn a_contract_without_a_hash_of_its_sources_is_verified() {
    a_contract_is_verified("0.3.10", "0.3.10+commit.91361694", "partial").await;
}

#[tokio::test]
async fn a_contract_with_a_hash_of_its_sources_in_its_creation_code_is_verified_exactly() {
    a_contract_is_verified("0.4.3", "0.4.3+commit.bff19ea2", "exact").await;
}

#[tokio::test]
async fn settings_are_found_and_a_changed_comment_is_not_proven() {
    let fixture = VerifierFixture::start_with(environments()).await;
    let mut input = vault("0.4.3");
    input["settings"]["optimize"] = json!("none");
    input["settings"]["evmVersion"] = json!("paris");
    let address = deploy(&fixture, "0.4.3", &input).await;
    // One file without settings: the interface is inlined.
    let flat = |input: &Value| {
        let text = input["sources"]["src/Vault.vy"]["content"].as_str().unwrap().to_owned();
        text.replace("import interfaces.Limits as Limits", "interface Limits:\n    def limit() -> uint256: view\n")
    };
    let mut single = vault("0.4.3");
    single["sources"]["src/Vault.vy"]["content"] = flat(&single).into();
    single["settings"]["optimize"] = json!("none");
    single["settings"]["evmVersion"] = json!("paris");
    let flattened = deploy(&fixture, "0.4.3", &single).await;
    let answer = fixture.verify(&flattened, "0.4.3", &flat(&single)).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("partial"), &json!("exact")), "{answer}");
    let contract = fixture.explorer.json(&format!("/api/v1/contracts/{flattened}")).await;
    assert_eq!(contract["settings"], json!({ "evmVersion": "paris", "optimize": "none" }));

    let comment = changed(&input, "@title Vault", "@title Safe");
    let answer = fixture.verify(&address, "vyper:0.4.3", &comment.to_string()).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("partial"), &json!("partial")), "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("unproven"), "{answer}");
}

#[tokio::test]
async fn a_wrong_source_is_refused_with_its_reason() {
    let fixture = VerifierFixture::start_with(environments()).await;
    let input = vault("0.4.3");
    let address = deploy(&fixture, "0.4.3", &input).await;
    let message = async |input: &Value| {
        let answer = fixture.verify(&address, "vyper:0.4.3", &input.to_string()).await;
        assert_eq!((&answer["success"], &answer["match"]), (&json!(false), &json!(null)), "{answer}");
        answer["message"].as_str().unwrap().to_owned()
    };
    let other = message(&changed(&input, "too much", "too_much")).await;
    assert!(other.contains("The closest is Vault") && other.contains("differs from byte"), "{other}");
    let longer = message(&changed(&input, "self.total += amount", "self.total += amount\n    self.total += 1")).await;
    assert!(longer.contains("bytes long"), "{longer}");
    let more = message(&changed(&input, "total: public", "OTHER: immutable(uint256)\ntotal: public")).await;
    assert!(more.starts_with("The source does not compile"), "an immutable must be set: {more}");
    let broken = message(&changed(&input, "assert amount", "assert amuont")).await;
    assert!(broken.starts_with("The source does not compile") && broken.contains("amuont"), "{broken}");
    let mut outside = input.clone();
    outside["interfaces"] = json!({});
    let outside = message(&outside).await;
    assert!(outside.contains("interfaces"), "an import must be part of the input: {outside}");
    assert_eq!(fixture.explorer.get(&format!("/api/v1/contracts/{address}")).await.status, 404);
}

#[tokio::test]
async fn a_missing_compiler_is_named_with_how_to_add_it() {
    let fixture = VerifierFixture::start().await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    let verify = async |fixture: &VerifierFixture, address: &str, version: &str| {
        let body = json!({ "address": address, "sourceCode": vault("0.4.3").to_string(), "compilerVersion": version });
        fixture.post("/api/v1/verify", &body).await
    };
    let answer = verify(&fixture, &address, "0.4.3+commit.bff19ea2").await;
    assert_eq!((answer.status, &answer.json["code"]), (503, &json!("compiler_unavailable")), "{}", answer.json);
    let detail = answer.json["detail"].as_str().unwrap();
    for part in ["no Vyper compiler", "vyper.0.4.3+commit.bff19ea2.linux", "--compiler-source", "Python environment"] {
        assert!(detail.contains(part), "{detail}");
    }
    // Code that names its compiler is not compiled.
    let coin = fixture.compile_and_deploy(&Case::coin("v0.8.20+commit.a1b79de6")).await;
    let refused = verify(&fixture, &coin, "0.4.3").await.ok();
    assert_eq!(refused["message"], "The code on the chain was made by compiler solc 0.8.20, not by vyper:0.4.3.");

    let fixture = VerifierFixture::start_with(environments()).await;
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    for (version, reason) in [
        ("vyper:0.2.16", "vyper:0.2.16 is not installed on this server. It has vyper:0.3.10"),
        ("0.4.3+commit.00000001", "0.4.3 is vyper:0.4.3+commit.bff19ea"),
        ("vyper:latest", "must be the version"),
    ] {
        let answer = verify(&fixture, &address, version).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("compilerVersion")), "{}", answer.json);
        assert!(answer.json["detail"].as_str().unwrap().contains(reason), "{}", answer.json);
    }
}

/// Releases are programs that run a second process; this one runs the package.
#[tokio::test]
async fn a_native_build_is_used_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("vyper.0.4.3+commit.bff19ea2.linux");
    let vyper = environments().join("vyper-0.4.3/bin/vyper");
    fs::write(&program, format!("#!/bin/sh\n{} \"$@\"\nexit $?\n", vyper.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let fixture = VerifierFixture::start_with(folder.path().to_owned()).await;
    let input = vault("0.4.3");
    let address = deploy(&fixture, "0.4.3", &input).await;
    let answer = fixture.verify(&address, "0.4.3+commit.bff19ea2", &input.to_string()).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("partial"), &json!("exact")), "{answer}");
    let listed = fixture.explorer.json("/api/v1/verify/compilers").await;
    let expected = json!({ "version": "vyper:0.4.3+commit.bff19ea2", "language": "Vyper", "fetched": true });
    assert_eq!(listed["compilers"], json!([expected]));
    // Nothing is left of the processes.
    let left = fs::read_dir(fixture.explorer.data().path().join("compilers")).unwrap().count();
    assert_eq!(left, 0);
}
