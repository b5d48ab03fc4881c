//! The contract module.

use serde_json::{Value, json};

use super::{VERSION, ask, coin, post_form, result, standard_json, submit, verdict};
use crate::contracts::verifier_fixture::{COIN, VerifierFixture};

#[tokio::test]
async fn a_contract_is_verified_and_read_in_etherscans_format() {
    let fixture = VerifierFixture::with(&["--chain-id", "4242"]).await;
    let (client, case) = (fixture.explorer.client(), coin());
    let address = fixture.compile_and_deploy(&case).await;

    let abi = ask(client, &format!("module=contract&action=getabi&address={address}")).await;
    assert_eq!(abi, json!({ "status": "0", "message": "NOTOK", "result": "Contract source code not verified" }));
    let source = result(client, &format!("module=contract&action=getsourcecode&address={address}")).await;
    assert_eq!(source.as_array().map(Vec::len), Some(1), "{source}");
    assert_eq!(
        (&source[0]["SourceCode"], &source[0]["ABI"]),
        (&json!(""), &json!("Contract source code not verified"))
    );

    let submitted = submit(&fixture, &address, &case, &standard_json(&case).to_string()).await;
    assert_eq!((&submitted["status"], &submitted["message"]), (&json!("1"), &json!("OK")), "{submitted}");
    let guid = submitted["result"].as_str().unwrap();
    let verified = verdict(client, guid).await;
    assert_eq!(verified, json!({ "status": "1", "message": "OK", "result": "Pass - Verified" }));
    // Forge polls with a form.
    let fields = [("module", "contract"), ("action", "checkverifystatus"), ("guid", guid), ("apikey", "dummy")];
    assert_eq!(post_form(client, "/v2/api?chainid=4242", &fields).await, verified);

    let abi = result(client, &format!("module=contract&action=getabi&address={address}")).await;
    let abi: Value = serde_json::from_str(abi.as_str().unwrap()).unwrap();
    assert!(abi.as_array().unwrap().iter().any(|entry| entry["name"] == "mint"), "{abi}");
    let source = result(client, &format!("module=contract&action=getsourcecode&address={address}")).await;
    let source = &source[0];
    assert!(source.as_object().unwrap().values().all(Value::is_string), "{source}");
    for (field, expected) in [
        ("ContractName", "Coin"),
        ("CompilerVersion", VERSION),
        ("OptimizationUsed", "1"),
        ("Runs", "200"),
        ("EVMVersion", "paris"),
        ("ConstructorArguments", case.arguments.as_str()),
        ("Proxy", "0"),
        ("Implementation", ""),
        ("Library", ""),
        ("SimilarMatch", ""),
    ] {
        assert_eq!(source[field], expected, "{field}");
    }
    let text = source["SourceCode"].as_str().unwrap();
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap();
    let input: Value = serde_json::from_str(inner).unwrap();
    assert_eq!(input["sources"]["src/Coin.sol"]["content"], COIN);
    assert_eq!(input["settings"]["optimizer"], case.settings["optimizer"]);
    assert!(input["settings"].get("compilationTarget").is_none(), "{input}");

    let creation =
        result(client, &format!("module=contract&action=getcontractcreation&contractaddresses={address}")).await;
    let sent = fixture.explorer.json(&format!("/api/v1/transactions?address={}", fixture.from)).await;
    let creating = sent["transactions"].as_array().unwrap().iter().find(|tx| tx["contractAddress"] == address).unwrap();
    assert_eq!(creation[0]["contractAddress"], address);
    assert_eq!(creation[0]["contractCreator"], fixture.from);
    assert_eq!(creation[0]["txHash"], creating["hash"]);
    let none =
        ask(client, &format!("module=contract&action=getcontractcreation&contractaddresses={}", fixture.from)).await;
    assert_eq!(none, json!({ "status": "0", "message": "No data found", "result": null }));

    // Verifying again pleases every tool.
    let again = submit(&fixture, &address, &case, &standard_json(&case).to_string()).await;
    assert_eq!(verdict(client, again["result"].as_str().unwrap()).await["result"], "Pass - Verified");
}

#[tokio::test]
async fn a_wrong_source_fails_with_its_reason() {
    let fixture = VerifierFixture::start().await;
    let (client, case) = (fixture.explorer.client(), coin());
    let address = fixture.compile_and_deploy(&case).await;
    let mut other = case.clone();
    other.source = COIN.replace("total += amount", "total += amount + 1");
    let submitted = submit(&fixture, &address, &case, &standard_json(&other).to_string()).await;
    let failed = verdict(client, submitted["result"].as_str().unwrap()).await;
    let reason = failed["result"].as_str().unwrap();
    assert_eq!(failed["status"], "0");
    assert!(reason.starts_with("Fail - Unable to verify. ") && reason.contains("Coin"), "{reason}");

    let mut broken = case.clone();
    broken.source = COIN.replace("uint256 public total", "uint256 publc total");
    let submitted = submit(&fixture, &address, &case, &standard_json(&broken).to_string()).await;
    let failed = verdict(client, submitted["result"].as_str().unwrap()).await;
    assert!(failed["result"].as_str().unwrap().contains("does not compile"), "{failed}");

    let mut wrong = case.clone();
    wrong.arguments = format!("{:064x}", 8);
    let submitted = submit(&fixture, &address, &wrong, &standard_json(&case).to_string()).await;
    let failed = verdict(client, submitted["result"].as_str().unwrap()).await;
    assert!(failed["result"].as_str().unwrap().contains("constructor arguments"), "{failed}");

    let nowhere = format!("0x{}", "12".repeat(20));
    let missing = submit(&fixture, &nowhere, &case, &standard_json(&case).to_string()).await;
    assert_eq!(missing["result"], format!("Unable to locate ContractCode at {nowhere}"));
    for guid in ["nonsense", "9f4c2a77-52c1-4d0e-8a4e-0d3f8a0b6c11"] {
        let unknown = ask(client, &format!("module=contract&action=checkverifystatus&guid={guid}")).await;
        assert_eq!((&unknown["status"], &unknown["result"]), (&json!("0"), &json!("Unknown UID")));
    }
}

/// Remix sends module and action in the query, and a multipart body.
#[tokio::test]
async fn a_multipart_form_as_remix_sends_it_is_verified() {
    let fixture = VerifierFixture::with(&["--chain-id", "4242"]).await;
    let (client, case) = (fixture.explorer.client(), coin());
    let address = fixture.compile_and_deploy(&case).await;
    let input = standard_json(&case).to_string();
    let fields = [
        ("codeformat", "solidity-standard-json-input"),
        ("sourceCode", input.as_str()),
        ("contractaddress", &address),
        ("contractname", "src/Coin.sol:Coin"),
        ("compilerversion", VERSION),
        ("constructorArguements", &case.arguments),
    ];
    let part = |(name, value): &(&str, &str)| {
        format!("------form42\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let body: String = fields.iter().map(part).chain(["------form42--\r\n".to_owned()]).collect();
    let path = "/v2/api?chainid=4242&module=contract&action=verifysourcecode&apikey=abc";
    let request = client.request("POST", path).header("Content-Type", "multipart/form-data; boundary=----form42");
    let answer = client.send(request.header("Origin", "https://remix.example").body(body)).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "*"), "{}", answer.text);
    assert_eq!(answer.json["status"], "1", "{}", answer.text);
    assert_eq!(verdict(client, answer.json["result"].as_str().unwrap()).await["result"], "Pass - Verified");
}

#[tokio::test]
async fn a_single_file_is_verified_with_the_settings_of_the_form() {
    let fixture = VerifierFixture::start().await;
    let (client, case) = (fixture.explorer.client(), coin());
    let address = fixture.compile_and_deploy(&case).await;
    let fields = [
        ("module", "contract"),
        ("action", "verifysourcecode"),
        ("contractaddress", address.as_str()),
        ("sourceCode", COIN),
        ("codeformat", "solidity-single-file"),
        ("contractname", "Coin"),
        ("compilerversion", VERSION),
        ("optimizationUsed", "1"),
        ("runs", "200"),
        ("evmversion", "paris"),
        ("licenseType", "3"),
    ];
    let answer = post_form(client, "/api", &fields).await;
    assert_eq!(answer["status"], "1", "{answer}");
    assert_eq!(verdict(client, answer["result"].as_str().unwrap()).await["result"], "Pass - Verified");
    let source = result(client, &format!("module=contract&action=getsourcecode&address={address}")).await;
    assert_eq!(source[0]["LicenseType"], "MIT", "{source}");
}

#[tokio::test]
async fn keys_limits_and_request_ids_are_those_of_the_api() {
    let node = crate::support::DevNode::start().await;
    let launch = crate::support::Launch::run(&node.url()).variable("EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", 3);
    let explorer = launch.start().await;
    let client = explorer.client();
    let invalid = client.get("/api?module=stats&action=ethprice&apikey=expl_nonsense").await;
    assert!(invalid.json["result"].as_str().unwrap().contains("Invalid API Key"), "{}", invalid.text);
    assert_eq!(invalid.header("x-ratelimit-limit"), "3");
    assert!(!invalid.header("x-request-id").is_empty());
    // A placeholder that a tool insists on counts as no key, and a poll does not count at all.
    for remaining in ["1", "0"] {
        let answer = client.get("/api?module=stats&action=ethprice&apikey=YourApiKeyToken").await;
        assert_eq!((answer.status, answer.header("x-ratelimit-remaining")), (200, remaining), "{}", answer.text);
        let poll = client.get("/api?module=contract&action=checkverifystatus&guid=x").await;
        assert_eq!(poll.json["result"], "Unknown UID");
    }
    let limited = client.get("/v2/api?module=stats&action=ethprice").await;
    assert_eq!(limited.status, 200);
    let reason = limited.json["result"].as_str().unwrap();
    assert!(reason.starts_with("Max rate limit reached") && reason.contains("rate limit"), "{reason}");
    assert!(limited.header("retry-after").parse::<u32>().is_ok_and(|seconds| seconds > 0));
}
