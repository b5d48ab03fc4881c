//! The list of compilers.

use serde_json::{Value, json};

use super::{hostile::ONE_BYTE_CODE, verifier_fixture::VerifierFixture};
use crate::support::{Anvil, Launch};

#[tokio::test]
async fn compilers_of_a_folder_are_listed_newest_first() {
    let fixture = VerifierFixture::start().await;
    let listed = fixture.explorer.json("/api/v1/verify/compilers").await;
    let compilers = listed["compilers"].as_array().unwrap();
    assert!(compilers.len() >= 3, "{listed}");
    assert!(compilers.iter().all(|one| one["fetched"] == true), "{listed}");
    let release = |one: &Value| -> Vec<u32> {
        let version = one["version"].as_str().unwrap().trim_start_matches('v');
        version.split('+').next().unwrap().split('.').map(|part| part.parse().unwrap()).collect()
    };
    assert!(compilers.is_sorted_by(|one, next| release(one) >= release(next)), "{listed}");
    // Each listed version is accepted as it is.
    let address = fixture.deploy(ONE_BYTE_CODE).await;
    let newest = compilers[0]["version"].as_str().unwrap();
    assert_eq!(fixture.verify(&address, newest, "contract A { uint x; }").await["success"], false);
}

#[tokio::test]
async fn a_compiler_missing_from_the_registry_is_rejected_without_a_download() {
    let anvil = Anvil::with(&[]).await;
    // An unreachable registry: every request to it fails.
    let launch = Launch::run(anvil.url()).variable("npm_config_registry", "http://127.0.0.1:1");
    let explorer = launch.variable("npm_config_fetch_retries", 0).start().await;
    let from = anvil.accounts().await.remove(0);
    let receipt = anvil.send(json!({ "from": from, "data": format!("0x{ONE_BYTE_CODE}"), "gas": "0xf00000" })).await;
    anvil.wait_for(&explorer).await;
    let address = receipt["contractAddress"].as_str().unwrap();
    for (version, reason) in [
        ("v0.8.26+commit.00000001", "0.8.26 is 0.8.26+commit.8a97fa7a"),
        ("v0.8.26+commit.00000002", "0.8.26 is 0.8.26+commit.8a97fa7a"),
        ("0.8.1", "holds 0.8.0"),
        ("0.4.12", "another --compiler-source"),
    ] {
        let body = json!({ "address": address, "sourceCode": "contract A {}", "compilerVersion": version });
        let client = explorer.client();
        let request = client.request("POST", "/api/v1/verify").header("Content-Type", "application/json");
        let answer = client.send(request.body(body.to_string())).await;
        assert_eq!((answer.status, &answer.json["field"]), (400, &json!("compilerVersion")), "{}", answer.json);
        assert!(answer.json["detail"].as_str().unwrap().contains(reason), "{}", answer.json);
    }
    let listed = explorer.json("/api/v1/verify/compilers").await;
    let compilers = listed["compilers"].as_array().unwrap();
    assert!(compilers.len() >= 90 && compilers.iter().all(|one| one["fetched"] == false), "{listed}");
    assert!(compilers.iter().any(|one| one["version"] == "v0.8.26+commit.8a97fa7a"));
    let folder = explorer.data().path().join("compilers");
    let left = std::fs::read_dir(folder).map_or(0, |entries| entries.count());
    assert_eq!(left, 0, "nothing was fetched");
}
