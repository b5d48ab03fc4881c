//! Webhooks end to end: real chains and real receivers.

mod backlog;
mod certificates;
mod crash;
mod crowd;
mod delivery;
mod documented;
pub(crate) mod egress;
mod events;
mod internal;
mod owners;
mod reorgs;

use serde_json::{Value, json};

use crate::support::{
    Launch, TestExplorer,
    client::{Answer, Client},
};

/// An explorer that sends to loopback addresses and lets everyone create webhooks.
pub(crate) fn launch(rpc: &str) -> Launch {
    Launch::run(rpc).argument("--owner-access", "open").variable("EXPLORER_WEBHOOK_ALLOW_INSECURE", "true")
}

/// A webhook and its secret.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) id: u64,
    pub(crate) secret: String,
}

pub(crate) async fn send(client: &Client, method: &str, path: &str, body: Option<Value>) -> Answer {
    let mut request = client.request(method, path);
    if let Some(body) = body {
        request = request.header("Content-Type", "application/json").body(body.to_string());
    }
    client.send(request).await
}

pub(crate) async fn register(explorer: &TestExplorer, url: &str, watched: &str, events: &[&str]) -> Hook {
    // An owner has at most twenty webhooks, so the watched address is the owner.
    let body = json!({ "ownerAddress": watched, "url": url, "watchAddress": watched, "eventTypes": events });
    let answer = send(explorer.client(), "POST", "/api/v1/webhooks", Some(body)).await;
    assert_eq!(answer.status, 201, "{}", answer.json);
    Hook { id: answer.json["id"].as_u64().unwrap(), secret: answer.json["secret"].as_str().unwrap().to_owned() }
}

impl Hook {
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/v1/webhooks/{}{rest}", self.id)
    }

    pub(crate) async fn patch(&self, explorer: &TestExplorer, change: Value) -> Value {
        send(explorer.client(), "PATCH", &self.path(""), Some(change)).await.ok()
    }

    pub(crate) async fn ping(&self, explorer: &TestExplorer) -> String {
        let answer = send(explorer.client(), "POST", &self.path("/ping"), None).await;
        assert_eq!(answer.status, 202, "{}", answer.json);
        answer.json["deliveryId"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn deliveries(&self, explorer: &TestExplorer) -> Vec<Value> {
        let list = explorer.json(&self.path("/deliveries?limit=100")).await;
        list["deliveries"].as_array().unwrap().clone()
    }

    pub(crate) async fn listed(&self, explorer: &TestExplorer, owner: &str) -> Value {
        let list = explorer.json(&format!("/api/v1/webhooks?owner={owner}")).await;
        let webhooks = list["webhooks"].as_array().unwrap();
        webhooks.iter().find(|webhook| webhook["id"] == self.id).unwrap_or_else(|| panic!("{list}")).clone()
    }
}
