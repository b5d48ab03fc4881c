//! Who may read and change the keys and webhooks of an owner.

use serde_json::{Value, json};

use crate::support::{
    DevNode, FaultyNode, Launch, Script, TestExplorer,
    client::Answer,
    key_request::{KeyRequest, owner_of},
};

const URL: &str = "https://93.184.215.14/hook";

/// Sends a request with more headers.
async fn send(
    explorer: &TestExplorer,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Answer {
    let client = explorer.client();
    let request =
        headers.iter().fold(client.request(method, path), |request, (name, value)| request.header(*name, *value));
    client
        .send(match body {
            Some(body) => request.header("Content-Type", "application/json").body(body.to_string()),
            None => request,
        })
        .await
}

/// What the owner's four routes answer to a caller that names the owner: those of the keys, of the list of webhooks, of a new
/// webhook, and of its deletion, if there is one.
async fn statuses(explorer: &TestExplorer, owner: &str, headers: &[(&str, &str)]) -> Vec<u16> {
    let (keys, webhooks) = (format!("/api/v1/keys?owner={owner}"), format!("/api/v1/webhooks?owner={owner}"));
    let mut statuses = Vec::new();
    for path in [&keys, &webhooks] {
        statuses.push(send(explorer, ("GET", path), headers, None).await.status);
    }
    let wanted = json!({ "ownerAddress": owner, "url": URL });
    let created = send(explorer, ("POST", "/api/v1/webhooks"), headers, Some(&wanted)).await;
    statuses.push(created.status);
    let path = format!("/api/v1/webhooks/{}", created.json["id"].as_u64().unwrap_or(1));
    statuses.push(send(explorer, ("DELETE", &path), headers, None).await.status);
    statuses
}

const ALLOWED: [u16; 4] = [200, 200, 201, 200];
const REFUSED: [u16; 4] = [401; 4];

#[tokio::test]
async fn on_a_dev_chain_a_client_on_this_machine_names_an_owner_without_a_key() {
    let node = DevNode::start().await;
    let owner = owner_of(&node.chain.accounts()[0]);
    let explorer = Launch::run(&node.url()).start().await;
    node.wait_for(&explorer).await;
    assert_eq!(statuses(&explorer, &owner, &[]).await, ALLOWED);
    let page_of_this_machine = [("Origin", "http://localhost:3000"), ("Sec-Fetch-Site", "same-site")];
    assert_eq!(statuses(&explorer, &owner, &page_of_this_machine).await, ALLOWED);

    for header in [
        ("X-Forwarded-For", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("X-Real-IP", "127.0.0.1"),
        ("Via", "1.1 proxy"),
        ("Host", "rebound.example"),
        ("Origin", "https://page.example"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
    ] {
        assert_eq!(statuses(&explorer, &owner, &[header]).await, REFUSED, "{header:?}");
    }
    let revoked = send(&explorer, ("DELETE", "/api/v1/keys/1"), &[], None).await;
    assert_eq!(revoked.status, 401, "a key is revoked with a key");
}

#[tokio::test]
async fn behind_a_proxy_or_when_guarded_a_key_is_needed_on_a_dev_chain_too() {
    let node = DevNode::start().await;
    let owner = owner_of(&node.chain.accounts()[0]);
    for (option, value) in
        [("--owner-access", "guarded"), ("--trusted-proxy", "192.0.2.1"), ("--public-url", "https://explorer.example")]
    {
        let explorer = Launch::run(&node.url()).argument(option, value).start().await;
        node.wait_for(&explorer).await;
        assert_eq!(statuses(&explorer, &owner, &[]).await, REFUSED, "{option}");
    }
}

#[tokio::test]
async fn on_a_public_chain_a_key_is_needed() {
    let node = DevNode::start().await;
    let owner = owner_of(&node.chain.accounts()[0]);
    let public = FaultyNode::start(&node.chain, 1, Script::default()).await;
    let explorer = Launch::run(&public.url()).start().await;
    public.wait_for(&explorer).await;
    assert_eq!(statuses(&explorer, &owner, &[]).await, REFUSED);
}

#[tokio::test]
async fn while_the_node_is_down_a_key_is_needed() {
    let mut node = DevNode::start().await;
    node.stop_serving().await;
    let owner = owner_of(&node.chain.accounts()[0]);
    let explorer = Launch::run(&node.url()).start().await;
    assert_eq!(statuses(&explorer, &owner, &[]).await, REFUSED);
    node.resume_serving().await;
    node.wait_for(&explorer).await;
    assert_eq!(statuses(&explorer, &owner, &[]).await, ALLOWED);
}

#[tokio::test]
async fn a_key_of_another_owner_deletes_nothing() {
    let node = DevNode::start().await;
    let [alice, bob] = [0, 1].map(|place| &node.chain.accounts()[place]);
    for access in ["auto", "guarded", "open"] {
        let explorer = Launch::run(&node.url()).argument("--owner-access", access).start().await;
        node.wait_for(&explorer).await;
        let client = explorer.client();
        let (alices, bobs) = (KeyRequest::by(alice).key(client).await, KeyRequest::by(bob).key(client).await);
        let wanted = json!({ "ownerAddress": owner_of(alice), "url": URL });
        let created = send(&explorer, ("POST", "/api/v1/webhooks"), &[("X-API-Key", &alices)], Some(&wanted)).await;
        assert_eq!(created.status, 201, "{}", created.json);
        let path = format!("/api/v1/webhooks/{}", created.json["id"]);
        let change = json!({ "active": false });
        for (method, body) in [("DELETE", None), ("PATCH", Some(&change))] {
            let refused = send(&explorer, (method, &path), &[("X-API-Key", &bobs)], body).await;
            let found = (refused.status, refused.json["code"].as_str());
            assert_eq!(found, (404, Some("webhook_not_found")), "{access} {method}");
        }
        let deleted = send(&explorer, ("DELETE", &path), &[("X-API-Key", &alices)], None).await;
        assert_eq!(deleted.status, 200, "{access}: {}", deleted.json);
    }
}
