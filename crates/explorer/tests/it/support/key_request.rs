use alloy_primitives::Signature;
use devchain::Signer;
use serde_json::{Value, json};

use super::client::{Answer, Client};

/// A request for an API key, signed by a wallet.
#[derive(Debug, Clone)]
pub(crate) struct KeyRequest {
    pub(crate) owner: String,
    pub(crate) timestamp: u64,
    pub(crate) signature: String,
}

impl KeyRequest {
    pub(crate) fn by(signer: &Signer) -> Self {
        Self::at(signer, now())
    }

    pub(crate) fn at(signer: &Signer, timestamp: u64) -> Self {
        Self::of_text(signer, timestamp, &text(&owner_of(signer), timestamp))
    }

    /// Signs an arbitrary text.
    pub(crate) fn of_text(signer: &Signer, timestamp: u64, text: &str) -> Self {
        let signature = sign(signer, text);
        Self { owner: owner_of(signer), timestamp, signature: hex_of(&signature.as_bytes()) }
    }

    pub(crate) fn body(&self) -> Value {
        json!({ "ownerAddress": self.owner, "signature": self.signature, "timestamp": self.timestamp })
    }

    pub(crate) async fn send(&self, client: &Client) -> Answer {
        post(client, &self.body()).await
    }

    /// Sends the request and returns the new key.
    pub(crate) async fn key(&self, client: &Client) -> String {
        let answer = self.send(client).await;
        assert_eq!(answer.status, 201, "{}", answer.json);
        answer.json["key"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn post(client: &Client, body: &Value) -> Answer {
    let request = client.request("POST", "/api/v1/keys").header("Content-Type", "application/json");
    client.send(request.body(body.to_string())).await
}

pub(crate) fn now() -> u64 {
    unix_time::millis()
}

pub(crate) fn owner_of(signer: &Signer) -> String {
    format!("{:#x}", signer.address())
}

pub(crate) fn text(owner: &str, timestamp: u64) -> String {
    format!("Explorer API Key Request\nAddress: {owner}\nTimestamp: {timestamp}")
}

pub(crate) fn sign(signer: &Signer, text: &str) -> Signature {
    signer.sign_message(text).unwrap()
}

pub(crate) fn hex_of(bytes: &[u8]) -> String {
    alloy_primitives::hex::encode_prefixed(bytes)
}
