use reqwest::Client;
use serde_json::{Value, json};

use super::client::http_client;

/// A JSON-RPC client to drive the chain and to compare the explorer with the node.
#[derive(Debug, Clone)]
pub(crate) struct Rpc {
    url: String,
    http: Client,
}

impl Rpc {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), http: http_client().pool_max_idle_per_host(0).build().unwrap() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The result of a call that must succeed.
    pub(crate) async fn call(&self, method: &str, params: Value) -> Value {
        let mut answers = self.calls(vec![(method, params)]).await;
        answers.remove(0)
    }

    /// A batch of calls that must all succeed.
    pub(crate) async fn calls(&self, calls: Vec<(&str, Value)>) -> Vec<Value> {
        let answers = self.answers(&calls).await.into_iter().zip(calls);
        let results = answers
            .map(|(answer, (method, params))| answer.unwrap_or_else(|error| panic!("{method} {params}: {error}")));
        results.collect()
    }

    /// A batch of calls: their results or errors.
    pub(crate) async fn answers(&self, calls: &[(&str, Value)]) -> Vec<Result<Value, Value>> {
        if calls.is_empty() {
            return Vec::new();
        }
        let count = calls.len();
        let requests: Vec<Value> = (0..)
            .zip(calls)
            .map(|(id, (method, params))| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .collect();
        let request = self.http.post(&self.url).header("content-type", "application/json");
        let body = serde_json::to_vec(&requests).unwrap();
        let answer = async { request.body(body).send().await?.bytes().await }.await;
        let answer = answer.unwrap_or_else(|error| panic!("the node does not answer {calls:?}: {error:?}"));
        let mut answers: Vec<Value> = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answers.len(), count);
        answers.sort_by_key(|answer| answer["id"].as_u64());
        let results = answers.into_iter().map(|mut answer| match answer.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(answer["result"].take()),
        });
        results.collect()
    }

    /// Number and hash of the head.
    pub(crate) async fn head(&self) -> (u64, String) {
        let block = self.call("eth_getBlockByNumber", json!(["latest", false])).await;
        (quantity(&block["number"]), block["hash"].as_str().unwrap().to_owned())
    }
}

/// A hexadecimal quantity of JSON-RPC.
#[track_caller]
pub(crate) fn quantity(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("no quantity: {value}"));
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}
