//! Vyper contracts in the formats of other explorers.

use serde_json::json;

use super::{post_form, result, verdict};
use crate::{
    contracts::{
        verifier_fixture::VerifierFixture,
        vyper::{arguments, compile, environments, vault},
    },
    dialects::sourcify::{end_of_job, post},
};

const VERSION: &str = "0.4.3";

#[tokio::test]
async fn a_vyper_contract_is_verified_in_etherscans_format() {
    let fixture = VerifierFixture::start_with(environments()).await;
    let input = vault(VERSION);
    let address = fixture.deploy(&format!("{}{}", compile(VERSION, &input), arguments())).await;
    let client = fixture.explorer.client();
    let (source, arguments) = (input.to_string(), arguments());
    let fields = |source| {
        [
            ("module", "contract"),
            ("action", "verifysourcecode"),
            ("contractaddress", address.as_str()),
            ("sourceCode", source),
            ("codeformat", "vyper-json"),
            ("contractname", "src/Vault.vy:Vault"),
            ("compilerversion", "vyper:0.4.3"),
            ("constructorArguements", arguments.as_str()),
        ]
    };
    let wrong = source.replace("self.total += amount", "self.total -= amount");
    let submitted = post_form(client, "/api", &fields(&wrong)).await;
    let refused = verdict(client, submitted["result"].as_str().unwrap()).await;
    assert!(refused["result"].as_str().unwrap().starts_with("Fail - Unable to verify. No contract"), "{refused}");
    let submitted = post_form(client, "/api", &fields(&source)).await;
    assert_eq!(submitted["status"], "1", "{submitted}");
    let passed = verdict(client, submitted["result"].as_str().unwrap()).await;
    assert_eq!(passed["result"], "Pass - Verified", "{passed}");

    let read = result(client, &format!("module=contract&action=getsourcecode&address={address}")).await;
    let contract = &read[0];
    assert!(contract["CompilerVersion"].as_str().unwrap().starts_with("vyper:0.4.3"), "{contract}");
    assert_eq!((&contract["ContractName"], &contract["OptimizationUsed"]), (&json!("Vault"), &json!("1")));
    let code = contract["SourceCode"].as_str().unwrap();
    assert!(code.starts_with("{{") && code.contains("\"language\":\"Vyper\""), "{code}");
}

#[tokio::test]
async fn a_vyper_contract_is_verified_and_read_in_sourcifys_format() {
    let fixture = VerifierFixture::launch(environments(), &["--chain-id", "4242"]).await;
    let input = vault(VERSION);
    let address = fixture.deploy(&format!("{}{}", compile(VERSION, &input), arguments())).await;
    let body = json!({
        "stdJsonInput": input,
        "compilerVersion": "0.4.3+commit.bff19ea2",
        "contractIdentifier": "src/Vault.vy:Vault",
    });
    let job = end_of_job(&fixture, &post(&fixture, &format!("/sourcify/v2/verify/4242/{address}"), &body).await).await;
    assert!(job.get("error").is_none(), "{job}");
    let contract = fixture.explorer.json(&format!("/sourcify/v2/contract/4242/{address}?fields=all")).await;
    assert_eq!((&contract["runtimeMatch"], &contract["creationMatch"]), (&json!("match"), &json!("exact_match")));
    let compilation = &contract["compilation"];
    assert_eq!((&compilation["language"], &compilation["compiler"]), (&json!("Vyper"), &json!("vyper")));
    assert!(compilation["compilerVersion"].as_str().unwrap().starts_with("0.4.3+commit."), "{compilation}");
    assert_eq!(compilation["fullyQualifiedName"], "src/Vault.vy:Vault");
    assert_eq!(contract["stdJsonInput"]["language"], "Vyper");
}
