//! Sourcify's API v2.

use serde_json::{Value, json};

use super::{VERSION, coin, patiently, standard_json};
use crate::{
    contracts::verifier_fixture::{COIN, VerifierFixture, code_of, compile, input, short, word},
    support::{Fixture, client::Answer},
};

pub(super) async fn post(fixture: &VerifierFixture, path: &str, body: &Value) -> Answer {
    let client = fixture.explorer.client();
    let request = client.request("POST", path).header("Content-Type", "application/json");
    client.send(request.body(body.to_string())).await
}

pub(super) async fn end_of_job(fixture: &VerifierFixture, submitted: &Answer) -> Value {
    assert_eq!(submitted.status, 202, "{}", submitted.text);
    let id = submitted.json["verificationId"].as_str().unwrap();
    patiently("end of the job", async || {
        let job = fixture.explorer.json(&format!("/sourcify/v2/verify/{id}")).await;
        assert_eq!(job["verificationId"], id);
        assert!(job["contract"].is_object(), "{job}");
        (job["isJobCompleted"] == true).then_some(job)
    })
    .await
}

#[tokio::test]
async fn a_contract_is_verified_and_read_in_sourcifys_format() {
    let fixture = VerifierFixture::with(&["--chain-id", "4242"]).await;
    let case = coin();
    let address = fixture.compile_and_deploy(&case).await;
    let contract = format!("/sourcify/v2/contract/4242/{address}");
    let unverified = fixture.explorer.get(&contract).await;
    assert_eq!(unverified.status, 404);
    for key in ["match", "creationMatch", "runtimeMatch"] {
        assert_eq!(unverified.json.get(key), Some(&Value::Null), "{}", unverified.text);
    }
    let body = json!({
        "stdJsonInput": standard_json(&case), "compilerVersion": VERSION, "contractIdentifier": "src/Coin.sol:Coin",
    });
    let job = end_of_job(&fixture, &post(&fixture, &format!("/sourcify/v2/verify/4242/{address}"), &body).await).await;
    assert!(job.get("error").is_none(), "{job}");
    assert_eq!(job["contract"]["match"], "exact_match", "{job}");
    assert!(job["jobFinishTime"].is_string() && job["compilationTime"].is_string(), "{job}");

    let short = fixture.explorer.json(&contract).await;
    assert_eq!((&short["match"], &short["chainId"]), (&json!("exact_match"), &json!("4242")), "{short}");
    assert_eq!((&short["creationMatch"], &short["runtimeMatch"]), (&json!("exact_match"), &json!("exact_match")));
    assert_eq!(short["address"].as_str().unwrap().to_lowercase(), address);
    assert_eq!(short.as_object().unwrap().len(), 7, "{short}");
    let all = fixture.explorer.json(&format!("{contract}?fields=all")).await;
    assert_eq!(all["sources"]["src/Coin.sol"]["content"], COIN);
    assert_eq!(all["compilation"]["fullyQualifiedName"], "src/Coin.sol:Coin");
    assert_eq!(all["compilation"]["compilerVersion"], VERSION.trim_start_matches('v'));
    assert_eq!(all["stdJsonInput"]["settings"]["optimizer"]["runs"], 200);
    assert_eq!(all["proxyResolution"]["isProxy"], false);
    assert!(all["abi"].is_array() && all["metadata"].is_object() && all["deployment"]["transactionHash"].is_string());
    let mint = all["signatures"]["function"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["signature"] == "mint(address,uint256)");
    assert_eq!(mint.unwrap()["signatureHash4"], "0x40c10f19");
    let some = fixture.explorer.json(&format!("{contract}?fields=abi,compilation.name")).await;
    assert_eq!((some["compilation"].clone(), some.get("sources")), (json!({ "name": "Coin" }), None));
    let page = fixture.explorer.client().get_without_following(&format!("/sourcify/repo-ui/4242/{address}")).await;
    assert_eq!((page.status, page.header("location")), (303, format!("/address/{address}?tab=contract#code").as_str()));

    let again = post(&fixture, &format!("/sourcify/v2/verify/4242/{address}"), &body).await;
    assert_eq!((again.status, &again.json["customCode"]), (409, &json!("already_verified")), "{}", again.text);
    let listed = fixture.explorer.json("/sourcify/v2/contracts/4242?sort=desc&limit=1").await;
    assert_eq!(listed["results"][0]["matchId"], short["matchId"], "{listed}");
    let after = format!("/sourcify/v2/contracts/4242?afterMatchId={}", short["matchId"].as_str().unwrap());
    assert_eq!(fixture.explorer.json(&after).await, json!({ "results": [] }));
    let unknown = fixture.explorer.get("/sourcify/v2/contracts/4242?afterMatchId=7").await;
    assert_eq!((unknown.status, &unknown.json["customCode"]), (400, &json!("invalid_parameter")), "{}", unknown.text);
    let everywhere = fixture.explorer.json(&format!("/sourcify/v2/contract/all-chains/{address}")).await;
    assert_eq!(everywhere["results"][0], short);

    // A twin is verified by its code, and with these sources on request.
    let twin = fixture.compile_and_deploy(&case).await;
    let similar = post(&fixture, &format!("/sourcify/v2/verify/similarity/4242/{twin}"), &json!({})).await;
    let job = end_of_job(&fixture, &similar).await;
    assert_eq!(job["contract"]["match"], "exact_match", "{job}");
    let unlike = post(&fixture, &format!("/sourcify/v2/verify/similarity/4242/{}", fixture.from), &json!({})).await;
    assert_eq!(unlike.status, 404, "{}", unlike.text);
}

#[tokio::test]
async fn metadata_with_its_sources_is_verified_and_a_wrong_source_is_not() {
    let fixture = VerifierFixture::with(&["--chain-id", "4242"]).await;
    let case = coin();
    let output = compile(short(case.version), vec![input(case.path, &case.source, &case.settings)]).await.remove(0);
    let code = code_of(&output, case.path, case.contract);
    let address = fixture.deploy(&format!("{code}{}", word(7))).await;
    let path = format!("/sourcify/v2/verify/4242/{address}");
    let body = |source: &str| {
        let mut other = case.clone();
        other.source = source.to_owned();
        json!({ "stdJsonInput": standard_json(&other), "compilerVersion": VERSION, "contractIdentifier": "src/Coin.sol:Coin" })
    };
    let wrong =
        end_of_job(&fixture, &post(&fixture, &path, &body(&COIN.replace("+= amount", "-= amount"))).await).await;
    assert_eq!(
        (&wrong["error"]["customCode"], &wrong["contract"]["match"]),
        (&json!("no_match"), &Value::Null),
        "{wrong}"
    );
    assert!(wrong["error"]["errorId"].is_string());
    let broken = end_of_job(&fixture, &post(&fixture, &path, &body("contract {")).await).await;
    assert_eq!(broken["error"]["customCode"], "compiler_error", "{broken}");
    let nowhere = format!("/sourcify/v2/verify/4242/0x{}", "12".repeat(20));
    let missing = end_of_job(&fixture, &post(&fixture, &nowhere, &body(COIN)).await).await;
    assert_eq!(missing["error"]["customCode"], "contract_not_deployed", "{missing}");

    let metadata = output["contracts"][case.path][case.contract]["metadata"].as_str().unwrap();
    let body = json!({ "sources": { case.path: COIN }, "metadata": serde_json::from_str::<Value>(metadata).unwrap() });
    let submitted = post(&fixture, &format!("/sourcify/v2/verify/metadata/4242/{address}"), &body).await;
    let job = end_of_job(&fixture, &submitted).await;
    assert_eq!(job["contract"]["match"], "exact_match", "{job}");
}

#[tokio::test]
async fn bad_input_gets_sourcifys_errors() {
    let fixture = Fixture::shared().await;
    let client = fixture.explorer.client();
    let chains = fixture.explorer.json("/sourcify/chains").await;
    let chain = chains[0]["chainId"].as_u64().unwrap();
    let address = format!("0x{}", "11".repeat(20));
    assert_eq!(fixture.explorer.get("/sourcify/health").await.status, 200);
    for (path, status, code) in [
        ("/sourcify/nonsense".to_owned(), 404, "route_not_found"),
        (format!("/sourcify/v2/contract/1/{address}"), 404, "unsupported_chain"),
        (format!("/sourcify/v2/contract/x/{address}"), 400, "invalid_parameter"),
        (format!("/sourcify/v2/contract/{chain}/0x12"), 400, "invalid_parameter"),
        (format!("/sourcify/v2/contract/{chain}/{address}?fields=nonsense"), 400, "invalid_parameter"),
        (format!("/sourcify/v2/contract/{chain}/{address}?fields=abi&omit=sources"), 400, "invalid_parameter"),
        (format!("/sourcify/v2/contracts/{chain}?limit=201"), 400, "invalid_parameter"),
        (format!("/sourcify/v2/contracts/{chain}?sort=up"), 400, "invalid_parameter"),
        ("/sourcify/v2/verify/nonsense".to_owned(), 404, "job_not_found"),
        ("/sourcify/v2/verify/9f4c2a77-52c1-4d0e-8a4e-0d3f8a0b6c11".to_owned(), 404, "job_not_found"),
    ] {
        let answer = client.get(&path).await;
        assert_eq!(
            (answer.status, answer.json["customCode"].as_str()),
            (status, Some(code)),
            "{path}: {}",
            answer.text
        );
        assert!(answer.json["message"].is_string() && answer.json["errorId"].is_string(), "{}", answer.text);
    }
    let path = format!("/sourcify/v2/verify/{chain}/{address}");
    for (body, status, code) in [
        (b"".to_vec(), 400, "invalid_parameter"),
        (b"[]".to_vec(), 400, "invalid_json"),
        (b"{".to_vec(), 400, "invalid_json"),
        (
            br#"{"stdJsonInput":{},"compilerVersion":"0.8.20","contractIdentifier":"A.sol:A"}"#.to_vec(),
            400,
            "invalid_parameter",
        ),
        (vec![b'a'; 9 << 20], 413, "invalid_parameter"),
    ] {
        let answer = client.send(client.request("POST", &path).body(body)).await;
        assert_eq!((answer.status, answer.json["customCode"].as_str()), (status, Some(code)), "{}", answer.text);
    }
}
