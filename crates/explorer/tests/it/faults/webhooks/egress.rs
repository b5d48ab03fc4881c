//! Responses to a registration reveal nothing about the network of the explorer.

use std::net::Ipv4Addr;

use serde_json::json;

use crate::{
    support::{DevNode, Launch, TestExplorer, client::Answer},
    webhooks::{egress::NameServer, send},
};

async fn try_to_register(explorer: &TestExplorer, url: &str) -> Answer {
    let body = json!({ "ownerAddress": "0x00000000000000000000000000000000000000aa", "url": url });
    send(explorer.client(), "POST", "/api/v1/webhooks", Some(body)).await
}

fn strict(node: &DevNode) -> Launch {
    Launch::run(&node.url()).argument("--owner-access", "open")
}

#[tokio::test]
async fn a_private_host_name_and_an_unknown_one_get_the_same_response() {
    let node = DevNode::start().await;
    let names = NameServer::start(&[Ipv4Addr::new(10, 1, 2, 3)]).await;
    let inside = strict(&node).argument("--webhook-dns", names.address).start().await;
    // Nothing listens there.
    let nowhere = strict(&node).argument("--webhook-dns", "127.0.0.1:9").start().await;
    let private = try_to_register(&inside, "https://vault.internal.example/").await;
    let missing = try_to_register(&nowhere, "https://vault.internal.example/").await;
    assert_eq!((private.status, missing.status), (400, 400), "{} {}", private.json, missing.json);
    assert_eq!(private.json, missing.json);
    for answer in [&private, &try_to_register(&inside, "https://10.1.2.3/").await] {
        let text = answer.json.to_string();
        assert!(!text.contains("10.1.2.3") && !text.contains("private"), "{text}");
    }
}

#[tokio::test]
async fn webhooks_use_the_default_ports_unless_the_operator_allows_others() {
    let node = DevNode::start().await;
    let usual = strict(&node).start().await;
    for port in [22, 25, 6_379, 8_443, 9_200] {
        let refused = try_to_register(&usual, &format!("https://93.184.215.14:{port}/")).await;
        assert_eq!((refused.status, &refused.json["field"]), (400, &json!("url")), "{port}");
        assert!(refused.json["detail"].as_str().unwrap().contains("port"), "{}", refused.json);
    }
    for url in ["https://93.184.215.14/", "https://93.184.215.14:443/", "https://93.184.215.14:80/"] {
        assert_eq!(try_to_register(&usual, url).await.status, 201, "{url}");
    }
    let open = strict(&node).argument("--webhook-ports", "443,8443").start().await;
    assert_eq!(try_to_register(&open, "https://93.184.215.14:8443/").await.status, 201);
    assert_eq!(try_to_register(&open, "https://93.184.215.14:80/").await.status, 400);
}
