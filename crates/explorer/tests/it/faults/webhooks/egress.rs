//! Responses to a registration reveal nothing about the network of the explorer.

use std::net::Ipv4Addr;

use serde_json::json;

use crate::{
    support::{DevNode, Launch, TestExplorer, client::Answer, eventually},
    webhooks::{
        Hook,
        egress::{NOT_USED, NameServer, first_error},
        send,
    },
};

async fn try_to_register(explorer: &TestExplorer, url: &str) -> Answer {
    let body = json!({ "ownerAddress": "0x00000000000000000000000000000000000000aa", "url": url });
    send(explorer.client(), "POST", "/api/v1/webhooks", Some(body)).await
}

fn strict(node: &DevNode) -> Launch {
    Launch::run(&node.url()).argument("--owner-access", "open")
}

#[tokio::test]
async fn a_host_that_is_not_known_yet_is_registered_and_looked_up_when_a_message_is_sent() {
    let node = DevNode::start().await;
    let names = NameServer::start(&[Ipv4Addr::new(10, 1, 2, 3)]).await;
    let inside = strict(&node).argument("--webhook-dns", names.address).start().await;
    // Nothing listens there.
    let nowhere = strict(&node).argument("--webhook-dns", "127.0.0.1:9").start().await;
    let mut causes = Vec::new();
    for explorer in [&inside, &nowhere] {
        let made = try_to_register(explorer, "https://hooks.customer.example/x").await;
        assert_eq!(made.status, 201, "{}", made.json);
        let moved = json!({ "url": "https://vault.customer.example/y" });
        let path = format!("/api/v1/webhooks/{}", made.json["id"]);
        assert_eq!(send(explorer.client(), "PATCH", &path, Some(moved)).await.status, 200);
        let hook = Hook { id: made.json["id"].as_u64().unwrap(), secret: String::new() };
        hook.ping(explorer).await;
        // The owner does not learn which of the two it is; the operator does, once.
        assert_eq!(first_error(explorer, &hook).await, NOT_USED);
        hook.ping(explorer).await;
        eventually("a second failure", async || {
            let attempts = hook.deliveries(explorer).await;
            attempts.iter().all(|delivery| delivery["attempts"][0]["error"] == NOT_USED).then_some(())
        })
        .await;
        let log = explorer.log();
        let lines: Vec<_> = log.lines().filter(|line| line.contains(NOT_USED)).collect();
        assert_eq!(lines.len(), 1, "{log}");
        causes.push(lines[0].to_owned());
    }
    assert!(causes[0].contains("10.1.2.3 is a private address"), "{causes:?}");
    assert!(causes[1].contains("no DNS server answers"), "{causes:?}");
}

#[tokio::test]
async fn a_host_that_can_never_be_public_is_refused_with_a_hint_for_tests() {
    let node = DevNode::start().await;
    let explorer = strict(&node).start().await;
    for url in ["https://10.1.2.3/", "https://localhost/", "https://vault.internal/", "http://localhost:3000/hook"] {
        let refused = try_to_register(&explorer, url).await;
        assert_eq!((refused.status, &refused.json["field"]), (400, &json!("url")), "{url}: {}", refused.json);
        let detail = refused.json["detail"].as_str().unwrap();
        assert!(detail.contains("--webhook-allow-insecure"), "{detail}");
        assert_eq!(detail.contains("can never be public"), url.starts_with("https"), "{detail}");
    }
    let testing = strict(&node).flag("--webhook-allow-insecure").start().await;
    assert_eq!(try_to_register(&testing, "http://localhost:3000/hook").await.status, 201);
    assert_eq!(try_to_register(&testing, "https://10.1.2.3/").await.status, 400);
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
