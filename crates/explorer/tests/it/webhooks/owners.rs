//! Ownership of webhooks and validation of their fields.

use serde_json::{Value, json};

use super::send;
use crate::support::{
    DevNode, Launch, TestExplorer,
    client::{Answer, Client},
    key_request::{KeyRequest, owner_of},
};

async fn with_key(client: &Client, method: &str, path: &str, key: &str, body: Option<Value>) -> Answer {
    let mut request = client.request(method, path).header("X-API-Key", key);
    if let Some(body) = body {
        request = request.header("Content-Type", "application/json").body(body.to_string());
    }
    client.send(request).await
}

#[track_caller]
fn expect(answer: &Answer, status: u16, code: &str, field: Option<&str>) {
    let found = (answer.status, answer.json["code"].as_str(), answer.json["field"].as_str());
    assert_eq!(found, (status, Some(code), field), "{}", answer.json);
}

#[tokio::test]
async fn only_the_owner_can_use_a_webhook() {
    let node = DevNode::start().await;
    let launch = Launch::run(&node.url()).argument("--owner-access", "guarded");
    let explorer = launch.argument("--webhook-dns", "127.0.0.1:9").start().await;
    let client = explorer.client();
    let [alice, bob] = [0, 1].map(|place| &node.chain.accounts()[place]);
    let (alices, bobs) = (KeyRequest::by(alice).key(client).await, KeyRequest::by(bob).key(client).await);
    let wanted = json!({ "ownerAddress": owner_of(alice), "url": "https://93.184.215.14/hook" });

    expect(
        &send(client, "POST", "/api/v1/webhooks", Some(wanted.clone())).await,
        401,
        "key_required",
        Some("X-API-Key"),
    );
    expect(&with_key(client, "POST", "/api/v1/webhooks", &bobs, Some(wanted.clone())).await, 403, "not_owner", None);
    let made = with_key(client, "POST", "/api/v1/webhooks", &alices, Some(wanted)).await;
    assert_eq!(made.status, 201, "{}", made.json);
    assert!(made.json["secret"].as_str().unwrap().starts_with("whsec_") && made.json["message"].is_string());
    let list = format!("/api/v1/webhooks?owner={}", owner_of(alice));
    let listed = with_key(client, "GET", &list, &alices, None).await.ok();
    let webhook = &listed["webhooks"][0];
    assert_eq!((&webhook["id"], &webhook["url"]), (&made.json["id"], &json!("https://93.184.215.14/hook")));
    assert_eq!((&webhook["watchAddress"], &webhook["eventTypes"]), (&json!(owner_of(alice)), &json!(["tx"])));
    assert_eq!((&webhook["active"], &webhook["failCount"]), (&json!(true), &json!(0)));
    assert_eq!((&webhook["lastTriggeredAt"], webhook.get("secret")), (&Value::Null, None));
    expect(&with_key(client, "GET", &list, &bobs, None).await, 403, "not_owner", None);
    expect(&explorer.get(&list).await, 401, "key_required", Some("X-API-Key"));
    expect(&explorer.get("/api/v1/webhooks").await, 400, "missing_field", Some("owner"));

    let path = format!("/api/v1/webhooks/{}", made.json["id"]);
    let redeliver = format!("/deliveries/evt_{}/redeliver", "0".repeat(32));
    for (method, rest, body) in [
        ("PATCH", "", Some(json!({ "active": false }))),
        ("GET", "/deliveries", None),
        ("POST", "/ping", None),
        ("POST", "/rotate-secret", None),
        ("POST", redeliver.as_str(), None),
        ("DELETE", "", None),
    ] {
        let path = format!("{path}{rest}");
        expect(&send(client, method, &path, body.clone()).await, 401, "key_required", Some("X-API-Key"));
        expect(&with_key(client, method, &path, &bobs, body).await, 404, "webhook_not_found", None);
    }
    let deleted = with_key(client, "DELETE", &path, &alices, None).await.ok();
    assert_eq!(deleted["success"], true);
    expect(&with_key(client, "DELETE", &path, &alices, None).await, 404, "webhook_not_found", None);
}

async fn open_explorer(node: &DevNode) -> TestExplorer {
    Launch::run(&node.url()).argument("--owner-access", "open").argument("--webhook-dns", "127.0.0.1:9").start().await
}

#[tokio::test]
async fn invalid_webhook_fields_are_rejected_by_name() {
    let node = DevNode::start().await;
    let explorer = open_explorer(&node).await;
    let owner = format!("0x{}", "aa".repeat(20));
    let right = json!({ "ownerAddress": owner, "url": "https://93.184.215.14/" });
    let with = |field: &str, value: Value| {
        let mut body = right.clone();
        body[field] = value;
        body
    };
    for (body, code, field) in [
        (json!({ "url": "https://93.184.215.14/" }), "missing_field", "ownerAddress"),
        (json!({ "ownerAddress": owner }), "missing_field", "url"),
        (with("ownerAddress", json!("0x12")), "invalid_parameter", "ownerAddress"),
        (with("watchAddress", json!("bob")), "invalid_parameter", "watchAddress"),
        (with("eventTypes", json!(["tx", "block"])), "invalid_parameter", "eventTypes"),
        (with("eventTypes", json!([])), "invalid_parameter", "eventTypes"),
        (with("eventTypes", json!("tx")), "invalid_parameter", "eventTypes"),
        (with("url", json!("http://receiver.invalid/")), "invalid_parameter", "url"),
        (with("url", json!("https://user@receiver.invalid/")), "invalid_parameter", "url"),
        (with("url", json!("https://127.0.0.1/")), "invalid_parameter", "url"),
        (with("url", json!(7)), "invalid_parameter", "url"),
        (with("wachAddress", json!(owner)), "unknown_field", "wachAddress"),
    ] {
        expect(&send(explorer.client(), "POST", "/api/v1/webhooks", Some(body)).await, 400, code, Some(field));
    }
    let made = send(explorer.client(), "POST", "/api/v1/webhooks", Some(right.clone())).await;
    let path = format!("/api/v1/webhooks/{}", made.json["id"]);
    for (body, field) in [
        (json!({ "active": "yes" }), "active"),
        (json!({ "url": "https://10.0.0.1/" }), "url"),
        (json!({ "eventTypes": [1] }), "eventTypes"),
    ] {
        let answer = send(explorer.client(), "PATCH", &path, Some(body)).await;
        expect(&answer, 400, "invalid_parameter", Some(field));
    }
    let unknown = send(explorer.client(), "PATCH", &path, Some(json!({ "watchAddress": owner }))).await;
    expect(&unknown, 400, "unknown_field", Some("watchAddress"));
    let changed = json!({ "active": false, "eventTypes": ["removed", "token_transfer"] });
    let changed = send(explorer.client(), "PATCH", &path, Some(changed)).await.ok();
    assert_eq!((&changed["active"], &changed["eventTypes"]), (&json!(false), &json!(["token_transfer", "removed"])));
    expect(&send(explorer.client(), "DELETE", "/api/v1/webhooks/x", None).await, 400, "invalid_parameter", Some("id"));
    let bad = send(explorer.client(), "POST", &format!("{path}/deliveries/7/redeliver"), None).await;
    expect(&bad, 400, "invalid_parameter", Some("deliveryId"));

    for _ in 1..20 {
        assert_eq!(send(explorer.client(), "POST", "/api/v1/webhooks", Some(right.clone())).await.status, 201);
    }
    let beyond = send(explorer.client(), "POST", "/api/v1/webhooks", Some(right)).await;
    expect(&beyond, 409, "webhook_quota_reached", None);
}
