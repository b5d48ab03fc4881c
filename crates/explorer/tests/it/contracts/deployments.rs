//! Details of one deployment of verified code belong to the canonical deployment only.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use super::{
    verifier_fixture::{COIN, VerifierFixture, code_of, compile, input, word},
    vyper,
};
use crate::support::eventually;

const VERSION: &str = "v0.8.20+commit.a1b79de6";
const PATH: &str = "contracts/Coin.sol";

async fn coin() -> String {
    let settings = json!({ "optimizer": { "enabled": true, "runs": 200 } });
    code_of(&compile("0.8.20", vec![input(PATH, COIN, &settings)]).await[0], PATH, "Coin")
}

async fn contract(fixture: &VerifierFixture, address: &str) -> Value {
    fixture.explorer.json(&format!("/api/v1/contracts/{address}")).await
}

async fn listed(fixture: &VerifierFixture) -> Vec<String> {
    let list = fixture.explorer.json("/api/v1/contracts?limit=100").await;
    let addresses = list["contracts"].as_array().unwrap().iter();
    let addresses: Vec<String> = addresses.map(|row| row["address"].as_str().unwrap().to_owned()).collect();
    assert_eq!(list["total"], addresses.len());
    addresses
}

/// The list lags behind the tip.
async fn wait_for_list(fixture: &VerifierFixture, wanted: &[&str]) {
    eventually(&format!("a list of {wanted:?}"), async || (listed(fixture).await == wanted).then_some(())).await;
}

#[tokio::test]
async fn a_twin_shows_its_own_constructor_arguments() {
    let fixture = VerifierFixture::start().await;
    let code = coin().await;
    let first = fixture.deploy(&format!("{code}{}", word(7))).await;
    let second = fixture.deploy(&format!("{code}{}", word(9))).await;
    // The same runtime code, with trailing bytes that are no constructor argument.
    let third = fixture.deploy(&format!("{code}{}ff", word(11))).await;
    assert_eq!(fixture.verify(&first, VERSION, COIN).await["match"], "exact");

    let details = contract(&fixture, &first).await;
    assert_eq!(
        (&details["twinOf"], &details["constructorArguments"]),
        (&Value::Null, &json!(format!("0x{}", word(7))))
    );
    for _ in 0..2 {
        let twin = contract(&fixture, &second).await;
        assert_eq!((&twin["twinOf"], &twin["match"]), (&json!(first), &json!("exact")));
        assert_eq!(twin["constructorArguments"], format!("0x{}", word(9)), "its own, not those of its twin");
        assert_eq!(twin["creationMatch"], "exact");
        let odd = contract(&fixture, &third).await;
        assert_eq!((&odd["match"], &odd["creationMatch"]), (&json!("exact"), &Value::Null), "{odd}");
        assert_eq!(odd["constructorArguments"], Value::Null, "{odd}");
    }
    // The page shows the same.
    let page = fixture.explorer.get(&format!("/address/{second}?tab=contract")).await;
    assert!(page.text.contains(&word(9)) && !page.text.contains(&word(7)));

    // Only the verified address is listed; verifying the twin lists it with its own arguments.
    wait_for_list(&fixture, &[&first]).await;
    let answer = fixture.verify(&second, VERSION, COIN).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("exact"), &json!("exact")), "{answer}");
    wait_for_list(&fixture, &[&second, &first]).await;
    let twin = contract(&fixture, &second).await;
    assert_eq!((&twin["twinOf"], &twin["constructorArguments"]), (&Value::Null, &json!(format!("0x{}", word(9)))));

    // Each page links to the other verified contracts with the same code.
    for (shown, others) in [(&third, vec![&first, &second]), (&first, vec![&second])] {
        eventually("contracts with the same code", async || {
            let page = fixture.explorer.get(&format!("/address/{shown}?tab=contract")).await.text.to_lowercase();
            let (_, similar) = page.split_once("verified contracts with the same code: ")?;
            let similar = similar.split("</p>").next()?;
            let is_linked = |address: &&String| similar.contains(&format!("href=\"/address/{address}\""));
            (others.iter().all(is_linked) && similar.matches("<a ").count() == others.len()).then_some(())
        })
        .await;
    }
}

/// A compiler that waits for a file before it runs.
fn held_compiler(folder: &Path, go: &Path) {
    let program = folder.join("vyper.0.4.3+commit.bff19ea2.linux");
    let vyper = vyper::environments().join("vyper-0.4.3/bin/vyper");
    // Only while it compiles: it is also asked for its version.
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--version*) ;; *) until [ -e {go} ]; do sleep 0.05; done ;; esac\n{vyper} \"$@\"\nexit $?\n",
        go = go.display(),
        vyper = vyper.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_contract_that_a_reorg_removes_while_it_is_compiled_is_not_shown_as_verified() {
    let (folder, signals) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let go = signals.path().join("go");
    held_compiler(folder.path(), &go);
    let fixture = VerifierFixture::start_with(folder.path().to_owned()).await;
    let before = fixture.anvil.rpc.call("evm_snapshot", json!([])).await;
    let input = vyper::vault("0.4.3");
    let address = vyper::deploy(&fixture, "0.4.3", &input).await;
    let body =
        json!({ "address": address, "sourceCode": input.to_string(), "compilerVersion": "0.4.3+commit.bff19ea2" });
    let verifying = fixture.post("/api/v1/verify", &body);
    let reorg = async {
        fixture.wait_for_queued(1).await;
        // A branch without the contract.
        fixture.anvil.rpc.call("evm_revert", json!([before])).await;
        fixture.anvil.mine(3).await;
        fixture.anvil.wait_for(&fixture.explorer).await;
        assert_eq!(listed(&fixture).await, Vec::<String>::new());
        fs::write(&go, "").unwrap();
    };
    let (answer, ()) = tokio::join!(verifying, reorg);
    assert_eq!(fixture.explorer.get(&format!("/api/v1/contracts/{address}")).await.status, 404, "{}", answer.text);
    assert_eq!(listed(&fixture).await, Vec::<String>::new());
    let page = fixture.page(&format!("/address/{address}")).await;
    assert!(!page.contains("source verified"), "{page}");
}

#[tokio::test]
async fn deployment_details_follow_a_reorg() {
    let fixture = VerifierFixture::start().await;
    let code = coin().await;
    let other = fixture.deploy(&format!("{code}{}", word(1))).await;
    assert_eq!(fixture.verify(&other, VERSION, COIN).await["match"], "exact");
    let before = fixture.anvil.rpc.call("evm_snapshot", json!([])).await;
    let address = fixture.deploy(&format!("{code}{}", word(7))).await;
    assert_eq!(fixture.verify(&address, VERSION, COIN).await["creationMatch"], "exact");
    assert_eq!(contract(&fixture, &address).await["constructorArguments"], format!("0x{}", word(7)));
    wait_for_list(&fixture, &[&address, &other]).await;

    // A branch without the contract.
    fixture.anvil.rpc.call("evm_revert", json!([before])).await;
    let before = fixture.anvil.rpc.call("evm_snapshot", json!([])).await;
    fixture.anvil.mine(3).await;
    fixture.anvil.wait_for(&fixture.explorer).await;
    wait_for_list(&fixture, &[&other]).await;
    assert_eq!(fixture.explorer.get(&format!("/api/v1/contracts/{address}")).await.status, 404);

    // A third branch with the same code at the same address, with other arguments.
    fixture.anvil.rpc.call("evm_revert", json!([before])).await;
    let again = fixture.deploy(&format!("{code}{}", word(8))).await;
    assert_eq!(again, address);
    fixture.anvil.mine(5).await;
    fixture.anvil.wait_for(&fixture.explorer).await;
    wait_for_list(&fixture, &[&address, &other]).await;
    let details = contract(&fixture, &address).await;
    assert_eq!(details["constructorArguments"], format!("0x{}", word(8)), "{details}");
    assert_eq!((&details["match"], &details["creationMatch"]), (&json!("exact"), &json!("exact")));
    // The list catches up, and verifying again changes nothing.
    let row = &fixture.explorer.json("/api/v1/contracts").await["contracts"][0];
    assert_eq!((&row["address"], &row["creationMatch"]), (&json!(address), &json!("exact")));
    let answer = fixture.verify(&address, VERSION, COIN).await;
    assert_eq!((&answer["match"], &answer["creationMatch"]), (&json!("exact"), &json!("exact")), "{answer}");
    assert_eq!(contract(&fixture, &address).await["constructorArguments"], format!("0x{}", word(8)));
}
