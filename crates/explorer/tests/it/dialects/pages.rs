//! Pages that tools link to.

use serde_json::json;

use super::{VERSION, coin, patiently};
use crate::contracts::verifier_fixture::{COIN, VerifierFixture};

#[tokio::test]
async fn links_of_tools_lead_to_pages_and_pages_show_command_lines() {
    let fixture = VerifierFixture::with(&["--chain-id", "4242"]).await;
    let case = coin();
    let address = fixture.compile_and_deploy(&case).await;
    let server = fixture.explorer.client().url("");
    let contract = fixture.page(&format!("/address/{address}?tab=contract")).await;
    for line in [
        format!("forge verify-contract --verifier custom --verifier-url {server}/api --chain 4242 --watch {address}"),
        format!("npx hardhat verify etherscan --network live {address}"),
        format!("curl -H &#39;Content-Type: application/json&#39; -d @- {server}/api/v1/verify"),
    ] {
        assert!(contract.contains(&line), "{line} is missing in {contract}");
    }
    // The fragment that tools link to names the tab of the contract.
    assert!(fixture.page(&format!("/address/{address}")).await.contains("<a id=\"code\""));

    let client = fixture.explorer.client();
    let body = json!({ "address": address, "sourceCode": COIN, "compilerVersion": VERSION });
    let request = client.request("POST", "/api/v1/verify").header("Content-Type", "application/json");
    let accepted = client.send(request.header("Prefer", "respond-async").body(body.to_string())).await;
    let id = accepted.json["id"].as_str().unwrap();
    let page = patiently("page of a verified contract", async || {
        let page = fixture.page(&format!("/verify-ui/jobs/{id}")).await;
        assert!(page.contains("In progress") || page.contains("Source verified"), "{page}");
        page.contains("See the contract").then_some(page)
    })
    .await;
    assert!(page.contains("Exact match"), "{page}");
    assert_eq!(client.get("/verify-ui/jobs/nonsense").await.status, 404);
    let moved = client.get_without_following(&format!("/sourcify/verify-ui/jobs/{id}")).await;
    assert_eq!((moved.status, moved.header("location")), (303, format!("/verify-ui/jobs/{id}").as_str()));
    let moved = client.get_without_following(&format!("/repo-ui/4242/{address}")).await;
    assert_eq!(moved.header("location"), format!("/address/{address}?tab=contract#code"));
    let contract = fixture.page(&format!("/address/{address}?tab=contract")).await;
    assert!(contract.contains(&format!("cast source --explorer-api-url {server}/api")), "{contract}");
}
